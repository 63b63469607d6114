"""The child's side of a Python skill: `python -P call.py ROOT module:function`, a JSON question on standard
input, a JSON answer on standard output. It stands alone: nothing of the package is imported."""

import importlib
import json
import os
import sys
import traceback


def main(root: str, target: str) -> None:
    # What the callable prints must not run into the answer: its standard output becomes the error output.
    answer_to = os.dup(1)
    os.dup2(2, 1)
    sys.path.append(root)
    module, _, name = target.partition(":")
    try:
        asked = json.load(sys.stdin.buffer)
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        result = function(asked["input"], **asked["parameters"])  # type: ignore[operator]
        answer = json.dumps({"result": result}, allow_nan=False)
    except BaseException as error:
        traceback.print_exc()
        answer = json.dumps({"error": traceback.format_exception_only(error)[-1].strip()})
    sys.stdout.flush()
    with open(answer_to, "w", encoding="ascii") as out:
        out.write(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
