"""The HTML pages: of a run, of its evals, of earlier runs. Each is one file that loads nothing."""
