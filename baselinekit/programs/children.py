"""How a child is started: which environment it gets, where its program and scripts are found. And how its
last words are quoted."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from baselinekit.errors import cannot
from baselinekit.lazy import lazy_pattern
from baselinekit.texts import Mask, already_masked, clipped

_LONGEST_QUOTE = 300
_FOR_A_SHELL = lazy_pattern(r"[|&;<>()$`\\*?\[\]#~!{}\n]|^\s*[A-Za-z_][A-Za-z0-9_]*=")
SHELL = "/bin/sh"
_PASSED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT")


def child_environment(names: Iterable[str] = (), own: Mapping[str, str] | None = None) -> dict[str, str]:
    """What every program needs to run, what the configuration names, and what the recipe sets itself. The
    folder of our own interpreter ends the PATH, so that `python` is found in an environment that nobody
    activated."""
    found = {name: os.environ[name] for name in (*_PASSED, *names) if name in os.environ}
    folder = os.path.dirname(sys.executable)
    found["PATH"] = os.pathsep.join(filter(None, (os.environ.get("PATH", os.defpath), folder)))
    return {**found, **(own or {})}


def needs_shell(command: str) -> bool:
    """Whether a command line holds what only a shell understands, or sets a variable before its program."""
    return _FOR_A_SHELL.search(command) is not None


def configured_argv(argv: Sequence[str], root: str, hint: str) -> list[str]:
    """The words of the configuration. Paths in them start at the project's root, as the child itself starts
    in the folder of the baseline: a file there must not take the place of what the configuration means."""
    program, *rest = argv
    words = [program_at(program, root, hint)]
    for word in rest:
        path = os.path.join(root, word)
        names_a_file = os.sep in word or os.path.splitext(word)[1]
        words.append(path if names_a_file and not os.path.isabs(word) and os.path.isfile(path) else word)
    return words


def program_at(program: str, folder: str, hint: str) -> str:
    """The whole path of a program, by its name in the PATH or by a path from a folder."""
    if os.sep in program:
        found = os.path.join(folder, program)
    else:
        from shutil import which  # it brings every archive format along

        found = which(program, path=child_environment()["PATH"]) or ""
    if not os.access(found, os.X_OK) or os.path.isdir(found):
        what = "is not executable" if os.path.exists(found) else "is not found"
        raise cannot("BK320", f"the program {program!r} {what}", hint)
    return found


def said_last(stderr: bytes, mask: Mask | None) -> str:
    """The last line that a program wrote to its standard error, as the end of a message: of the text without
    secrets, as one of them may have several lines. Where nobody knows them, nothing is quoted."""
    lines = mask(stderr.decode("utf-8", "replace")).strip().splitlines() if mask else []
    return (
        f"; its last output was: {clipped(lines[-1].strip(), _LONGEST_QUOTE, already_masked)}"
        if lines
        else ""
    )
