"""Requests that other tools wrote down, as recipes: one file a form, each a pure function of a text."""
