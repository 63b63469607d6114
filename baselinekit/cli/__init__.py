"""Words in, text and an exit code out. The only room that builds real doors, prints or exits."""
