"""The pages for a browser: of a run, of its evals, of the runs before. Each is a file that loads nothing."""
