"""Placeholders: text in a stored output that stands for a class of values, as `<<any_uuid>>` does."""
