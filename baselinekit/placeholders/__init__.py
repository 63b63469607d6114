"""Placeholders: text in a stored output that matches a class of values, as `<<any_uuid>>` does."""
