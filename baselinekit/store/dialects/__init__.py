"""The forms in which a record may be written, one module each: read into the model, edited in place."""
