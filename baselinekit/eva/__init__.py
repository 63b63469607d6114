"""Prompt folders as eva has them: their files, cases, scripts, logs and life cycle."""
