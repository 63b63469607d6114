"""Secrets: declared ones, found in every spelling; and texts that only look like secrets."""
