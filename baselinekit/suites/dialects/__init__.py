"""The forms of eval files, one module per form."""
