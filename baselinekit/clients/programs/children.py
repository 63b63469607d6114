"""How a child process is started: its environment, and where its program and scripts are found. And how the
end of its error output is quoted."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from baselinekit.clients.programs import call
from baselinekit.errors import cannot_replay, describe_exit
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import ProcessResult
from baselinekit.model.values import ABSENT, Json
from baselinekit.values.texts import Mask, mask_and_clip, no_mask

_LONGEST_QUOTE = 300
_FOR_A_SHELL = lazy_pattern(r"[|&;<>()$`\\*?\[\]#~!{}\n]|^\s*[A-Za-z_][A-Za-z0-9_]*=")
SHELL = "/bin/sh"
_PASSED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT")


def child_environment(names: Iterable[str] = (), own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: the variables that every program needs, those that the configuration names,
    and those that the recipe sets (`own`). The folder of our own interpreter is at the end of the PATH, so
    that `python` is found even if no virtual environment is activated."""
    environment = {name: os.environ[name] for name in (*_PASSED, *names) if name in os.environ}
    folder = os.path.dirname(sys.executable)
    environment["PATH"] = os.pathsep.join(filter(None, (os.environ.get("PATH", os.defpath), folder)))
    return {**environment, **(own or {})}


def needs_shell(command: str) -> bool:
    """Whether a command line has syntax that needs a shell, or sets a variable before its program."""
    return _FOR_A_SHELL.search(command) is not None


def configured_argv(argv: Sequence[str], root: str, hint: str) -> list[str]:
    """The words of a command in the configuration. Relative paths in them are taken from the project's root:
    the child starts in the folder of the baseline, where another file may have the same name."""
    program, *rest = argv
    words = [program_at(program, root, hint)]
    for word in rest:
        path = os.path.join(root, word)
        names_a_file = os.sep in word or os.path.splitext(word)[1]
        words.append(path if names_a_file and not os.path.isabs(word) and os.path.isfile(path) else word)
    return words


def program_at(program: str, folder: str, hint: str) -> str:
    """The path of a program, by its name in the PATH or by a path from a folder."""
    if os.sep in program:
        path = os.path.join(folder, program)
    else:
        from shutil import which  # it imports every archive format

        path = which(program, path=child_environment()["PATH"]) or ""
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        reason = "is not executable" if os.path.exists(path) else "is not found"
        raise cannot_replay("BK320", f"the program {program!r} {reason}", hint)
    return path


def callable_argv(target: str, root: str) -> list[str]:
    """The words that call a Python callable of the project, `module:function`; none if it is not one."""
    module, _, function = target.partition(":")
    are_names = all(part.isidentifier() for part in (*module.split("."), *function.split(".")))
    # -P: the folder of call.py holds modules with the names of standard ones
    return [sys.executable, "-P", os.path.abspath(call.__file__), root, target] if are_names else []


def require_success(
    finished: ProcessResult, source: str, code: str, mask: Mask | None, hint: str = ""
) -> None:
    """Raise CannotReplay for a program that failed, with the last line that it wrote."""
    if finished.exit_code:
        last_words = last_error_line(finished.stderr.strip() or finished.stdout, mask)
        raise cannot_replay(code, f"{source} {describe_exit(finished.exit_code)}{last_words}", hint)


def returned_by(finished: ProcessResult, source: str, code: str, mask: Mask | None) -> Json:
    """The value that a callable returned, ABSENT if there is none; CannotReplay if it raised an error."""
    require_success(finished, source, code, mask)
    try:
        answer: Any = decode(finished.stdout.decode())
    except (NotJson, UnicodeDecodeError):
        return ABSENT
    if not isinstance(answer, dict):
        return ABSENT
    if "error" in answer:
        at = f" at {answer['at']}" if answer.get("at") else ""
        raise cannot_replay(code, f"{source} raised {' '.join(str(answer['error']).split())}{at}")
    return answer.get("result", ABSENT)


def last_error_line(stderr: bytes, mask: Mask | None) -> str:
    """The last line that a program wrote to its standard error, as the end of a message. The secrets are
    masked first, as one may have several lines. Without a `mask` nothing is quoted."""
    lines = mask(stderr.decode("utf-8", "replace")).strip().splitlines() if mask else []
    last = mask_and_clip(lines[-1].strip(), _LONGEST_QUOTE, no_mask) if lines else ""
    return f"; its last output was: {last}" if lines else ""
