"""Other ways to write the same record, one file each: read into the model, recorded in place."""
