"""YAML and JSON texts: read strictly and with places, written for readers of a git diff, edited in place
without changing any other byte. Text in, values or text out; no file is opened here."""
