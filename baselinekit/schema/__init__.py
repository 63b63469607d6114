"""Dataclasses for the files that we write and read back: one reader with the places of errors, one writer."""
