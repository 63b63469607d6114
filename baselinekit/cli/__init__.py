"""The command line. The only package that builds real clients, prints or exits."""
