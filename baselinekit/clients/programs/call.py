"""The child process of a Python skill: `python -P call.py ROOT module:function`, a JSON question on standard
input, a JSON answer on standard output. It is self-contained: nothing of the package is imported."""

import importlib
import json
import os
import sys
import traceback


def main(root: str, target: str) -> None:
    # What the callable prints must not mix with the answer: its standard output becomes the error output.
    answer_to = os.dup(1)
    os.dup2(2, 1)
    sys.path.append(root)
    module, _, name = target.partition(":")
    try:
        question = json.load(sys.stdin.buffer)
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        result = function(question["input"], **question["parameters"])  # type: ignore[operator]
        answer = json.dumps({"result": result}, allow_nan=False)
    except BaseException as error:
        traceback.print_exc()
        message = traceback.format_exception_only(error)[-1].strip()
        answer = json.dumps({"error": message, "at": place_of(error, os.path.realpath(root))})
    sys.stdout.flush()
    with open(answer_to, "w", encoding="ascii") as out:
        out.write(answer)


def place_of(error: BaseException, root: str) -> str | None:
    """The innermost line of the project in the traceback, as `file:line` from the root."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    for file, line in reversed(lines):
        inside = os.path.relpath(os.path.realpath(file), root)
        if not inside.startswith(os.pardir) and os.path.exists(file) and "site-packages" not in inside:
            return f"{inside}:{line}"
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
