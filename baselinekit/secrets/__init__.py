"""Secrets: declared ones, found in a dozen spellings; and texts that only look like secrets."""
