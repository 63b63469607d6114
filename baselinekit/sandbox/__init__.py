"""Programs that may read and write only what they are given."""
