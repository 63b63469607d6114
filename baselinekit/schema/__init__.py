"""The files that we write and read back: dataclasses, one reader that places its errors, one writer."""
