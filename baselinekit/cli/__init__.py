"""Words in, text and an exit code out. The only package that builds real clients, prints or exits."""
