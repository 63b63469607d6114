"""Secrets: those that are declared, found in every spelling; and those that only look like secrets."""
