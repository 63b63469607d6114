"""Write cases to files: one writer per form, with a report of what does not carry over."""
