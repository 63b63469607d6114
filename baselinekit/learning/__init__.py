"""Several outputs: what varies, and the placeholder for it."""
