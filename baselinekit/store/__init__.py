"""Files to the words of the model, and back. Everything that this project writes, it writes here."""
