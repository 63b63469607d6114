"""Cases to files: one writer a form, and what does not carry over."""
