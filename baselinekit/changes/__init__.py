"""The stored output and a new one → the changes between them, each to be accepted on its own."""
