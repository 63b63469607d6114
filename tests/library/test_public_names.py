"""The public names and their signatures are a promise: they change on purpose only."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import baselinekit

KEPT = Path(__file__).parent / "signatures.txt"


def parameters(called: Any) -> str:
    """Names, kinds and defaults; how a type is shown depends on the version of Python."""
    signature = inspect.signature(called)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def described(name: str) -> list[str]:
    value = getattr(baselinekit, name)
    if isinstance(value, baselinekit.Placeholder):
        return [f"{name}: {value}"]
    if not inspect.isclass(value):
        return [f"{name}{parameters(value)}"]
    parts = [
        f"  .{key}" + (parameters(part) if inspect.isfunction(part) else "")
        for key, part in sorted(vars(value).items())
        if not key.startswith("_") and not issubclass(value, Exception)
    ]
    made = "" if issubclass(value, Exception) else parameters(value)
    return [f"class {name}{made}", *parts]


def test_signatures_are_as_promised() -> None:
    signatures = "".join(f"{line}\n" for name in baselinekit.__all__ for line in described(name))
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        KEPT.write_text(signatures, encoding="utf-8")
    assert signatures == KEPT.read_text(encoding="utf-8")


def test_import_loads_no_submodule() -> None:
    code = "import sys, baselinekit; print(sorted(m for m in sys.modules if m.startswith('baselinekit')))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['baselinekit']\n"
    assert "compare" in dir(baselinekit)
