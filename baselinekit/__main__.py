"""`python -m baselinekit`, with the working folder removed from the path first: a yaml.py in a checkout
must not run in place of the library (F44)."""

import sys

if sys.path and sys.path[0] in ("", "."):
    del sys.path[0]
else:  # `python -m` puts the absolute working folder first
    import os

    if sys.path and sys.path[0] == os.getcwd():
        del sys.path[0]

from baselinekit.cli.entry import main

if __name__ == "__main__":
    main()
