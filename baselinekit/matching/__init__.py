"""Rules and an expected output, compiled once; one walk over the actual output. Pure: no file, no clock."""
