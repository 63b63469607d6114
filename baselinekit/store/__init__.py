"""Reads files into the classes of the model, and writes them. All files that this project writes are written
here."""
