"""For pytest: the fixture `baseline`, and baselines as items of a run."""
