"""The page of this machine for people without a terminal: review changes, rate outputs, read runs."""
