"""The verbs of eval suites: load, check, attempt, grade, count, gate. Prints nothing."""
