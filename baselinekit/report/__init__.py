"""Turns results into text, and nothing else: every form is rendered from a `Report` alone."""
