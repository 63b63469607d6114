"""The forms of eval files, one module per form. The most general come first: an item is of the last form that
recognises it."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from baselinekit.store import records
from baselinekit.suites.dialects import capability, gates, regression, suite
from baselinekit.suites.dialects.dialect import Dialect


def has_folder(name: str) -> bool:
    """Whether the package has the folder of another tool: all else works without it."""
    return find_spec(f"baselinekit.{name}") is not None


def _of_feature(name: str, folder: str, in_lines: bool = False) -> Iterator[Dialect]:
    """Yield the form of another tool, which has a folder of its own; none if the package lacks the folder."""
    if has_folder(folder):
        form = import_module(f"baselinekit.{folder}.form")
        yield Dialect(name, form.read_item, form.schema, form.recognises, in_lists=False, in_lines=in_lines)


DIALECTS = (
    Dialect("gate", gates.read_item, gates.schema, gates.recognises, in_lists=False),
    Dialect("case", capability.read_item, capability.schema, capability.recognises, capability.WRAPPER),
    Dialect("regression", regression.read_item, regression.schema, regression.recognises, records.WRAPPER),
    Dialect("test_cases", capability.read_file, capability.file_schema, capability.recognises_file),
    *_of_feature("prompt_cases", "eva"),
    *_of_feature("evalcases", "agentv", in_lines=True),
    Dialect("suite", suite.read_item, suite.schema, wrapper=suite.WRAPPER, in_lists=False),
)
