"""The limits of the page, each with the attack or the machine that it is for."""

MOST_BYTES = 1_000_000
"""Of a request: a body without an end fills the memory."""

MOST_BYTES_OF_A_FILE = 20_000_000
"""Of a request with a file of ratings in it."""

HEADER_SECONDS = 5.0
BODY_SECONDS = 10.0
"""A client that sends a byte at a time holds its connection."""

LONGEST_HEADERS = 16_384
CONNECTIONS = 256
"""At once: each of 200 raters may have one that is open."""

IDLE_MINUTES = 60
"""A page that is forgotten does not stay reachable."""

MOST_CARDS = 500
"""Changes on one page: more are reviewed by their ids."""

LONGEST_DIFFS = 2_000_000
"""Characters of all diffs in a page without a server: the cards after that have none."""

MOST_FILES_OF_A_DIFF = 5
MOST_DIFF_LINES = 400
LONGEST_LINE = 2_000
"""Of a diff: an output on one line is shown twice."""

LONGEST_IN_LIST = 200
"""Characters of a value in the list of a card's baselines, which may be hundreds."""

LONGEST_TEXT = 100_000
"""Characters of one side of a change, or of an output: a browser shows no more without a stutter."""

MOST_RUNS = 200
MOST_ATTEMPTS = 100
