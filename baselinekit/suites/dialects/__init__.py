"""The forms of eval files, one file a form."""
