"""Every error code with what it means and how to mend it: what `baselinekit explain BK101` prints.

A code is stable: it is never given another meaning, and a retired one is not used again. BK1xx are files,
BK2xx rules of comparison, BK3xx replay, BK4xx trust, BK5xx the command line and its variables,
BK6xx models, BK7xx evals."""

from typing import NamedTuple


class Code(NamedTuple):
    """`title` names the case in a few words; `text` is a paragraph or two, with an example."""

    title: str
    text: str
