"""Texts that hold values, YAML and JSON: read strictly and with places, written for the reader of a git diff,
edited in place without a byte more. Text in, values or text out; no file is opened here."""
