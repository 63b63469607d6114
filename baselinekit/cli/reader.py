"""Whoever reads standard output may leave before it ends (`| head`)."""


class ReaderLeft(Exception):
    """Not an OSError: click would take that for its affair, and end with the exit code of a regression."""
