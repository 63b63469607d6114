"""The same tests by the plugins that record values of pytest tests: what each one's file looks like, and the
project that holds it.

Each runs in the pytest and the Python of this process, and loads no plugin but its own: what is measured is
the plugin. The others are looked for in `benchmarks/peers`, where `make bench-peers` puts them."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import islice
from pathlib import Path
from typing import Any

import baselinekit
from benchmarks.tools import PEERS

PLUGINS = PEERS / "plugins"
"""Packages without an environment of their own: they run in this one."""

A_FILE = 100
"""Tests in a file, of the many small ones."""

_HEAD = """\
import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__)
"""
_SMALL_VALUES = """\
VALUES = json.loads(HERE.with_suffix(".json").read_text("utf-8"))
NUMBERS = pytest.mark.parametrize("number", range(len(VALUES)))
"""
_LARGE_VALUES = """\
VALUES = sorted(HERE.parent.glob("value-*.json"))
NUMBERS = pytest.mark.parametrize("number", range(len(VALUES)))


def answer(number):
    return json.loads(VALUES[number].read_text("utf-8"))

"""
"""Each test reads its own, as a test asks for an answer. If the module held all of them, pytest, which ends
in two passes of the collector of cycles, would look through them for longer than it takes to read them."""

_FORMS = """\
FORMS = {
    "id": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "created_at": r"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ",
    "updated_at": r"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ",
    "etag": r"[0-9a-f]{16}",
}
"""
"""What differs in every answer. Our placeholders say the same by their names."""

_IN_JSON = """\
from syrupy.extensions.json import JSONSnapshotExtension


@pytest.fixture
def snapshot(snapshot):
    return snapshot.use_extension(JSONSnapshotExtension)
"""

_SYRUPY_MATCHER = """\
from syrupy.matchers import path_value

LOOSE = path_value(
    {rf"users\\.\\d+\\.{name}": form for name, form in FORMS.items()},
    types=(str,),
    replacer=lambda data, match: "<<any>>" if match else data,
    regex=True,
)
"""

_OUR_PLACEHOLDERS = """\
from baselinekit import any_iso_datetime, any_uuid, placeholder

LOOSE = {
    "users.*.id": any_uuid,
    "users.*.created_at": any_iso_datetime,
    "users.*.updated_at": any_iso_datetime,
    "users.*.etag": placeholder("any_hex(16)"),
}
"""

_MASK = """\
def masked(value):
    for row in value["users"]:
        for name, form in FORMS.items():
            if re.fullmatch(form, row[name]):
                row[name] = "<<any>>"
    return value
"""


@dataclass(frozen=True, slots=True)
class Plugin:
    """`small` and `large` are its tests of small values, and of large ones with what differs in every run;
    `modules` what pytest is to load; `record` the option of a run that writes."""

    name: str
    modules: tuple[str, ...]
    small: str
    large: str
    record: tuple[str, ...] = ()
    package: str = ""

    @property
    def found(self) -> bool:
        """Ours is here."""
        return not self.package or any(PLUGINS.glob(f"{self.package}-*.dist-info"))

    @property
    def version(self) -> str:
        found = sorted(PLUGINS.glob(f"{self.package}-*.dist-info")) if self.package else []
        return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else ""

    def argv(self, *options: str) -> list[str]:
        loaded = [word for module in self.modules for word in ("-p", module)]
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loaded, *options]


def _tests(
    fixture: str, compared: str, loosely: str, before: str = "", before_large: str = ""
) -> tuple[str, str]:
    """The tests of small values and of large ones: how each is compared."""
    small = _HEAD + _SMALL_VALUES + before + _test(fixture, compared.format("VALUES[number]"))
    large = _HEAD + _LARGE_VALUES + before_large + before + _test(fixture, loosely.format("answer(number)"))
    return small, large


def _test(fixture: str, compared: str) -> str:
    return f"\n\n@NUMBERS\ndef test_it({fixture}):\n    {compared}\n"


_LITERAL, _LOOSE = "assert {} == snapshot", "assert {} == snapshot(matcher=LOOSE)"

OURS = Plugin(
    "ours",
    ("baselinekit.pytest_plugin.hooks",),
    *_tests(
        "baseline, number",
        "assert {} == baseline",
        "assert {} == baseline(placeholders=LOOSE)",
        before_large=_OUR_PLACEHOLDERS,
    ),
)
AMBER = Plugin(
    "syrupy, amber",
    ("syrupy",),
    *_tests("snapshot, number", _LITERAL, _LOOSE, before_large=_FORMS + _SYRUPY_MATCHER),
    ("--snapshot-update",),
    "syrupy",
)
SINGLE = Plugin(
    "syrupy, a JSON file each",
    ("syrupy",),
    *_tests("snapshot, number", _LITERAL, _LOOSE, _IN_JSON, _FORMS + _SYRUPY_MATCHER),
    ("--snapshot-update",),
    "syrupy",
)
REGRESSIONS = Plugin(
    "pytest-regressions",
    ("pytest_datadir.plugin", "pytest_regressions.plugin"),
    *_tests(
        "data_regression, number",
        "data_regression.check({})",
        "data_regression.check(masked({}))",
        before_large=_FORMS + _MASK,
    ),
    ("--regen-all",),
    "pytest_regressions",
)
BARE = Plugin("bare pytest", (), *_tests("number", "assert {}", "assert {}"))
ALL = (OURS, AMBER, SINGLE, REGRESSIONS)


def settings() -> dict[str, str]:
    """The environment of a run: the plugins that are named, at a desk."""
    path = os.pathsep.join(filter(None, [str(PLUGINS), os.environ.get("PYTHONPATH", "")]))
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": ""}
    return {**own, "PYTHONPATH": path, "CI": ""}


def batched(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(values)
    while some := list(islice(left, size)):
        yield some


def write_small(folder: Path, plugin: Plugin, values: Iterable[Any]) -> None:
    """The tests of these values, so many a file."""
    for number, some in enumerate(batched(values, A_FILE)):
        file = folder / f"test_{number:03}.py"
        _write(file, plugin.small)
        file.with_suffix(".json").write_text(json.dumps(some), "utf-8")


def write_large(folder: Path, plugin: Plugin, values: Iterable[Any]) -> None:
    """The tests of these values, or, where they stand already, other values for them."""
    _write(folder / "test_large.py", plugin.large)
    for number, value in enumerate(values):
        (folder / f"value-{number:03}.json").write_text(json.dumps(value), "utf-8")


def _write(file: Path, text: str) -> None:
    if not file.exists():
        (file.parent / "pytest.ini").write_text("[pytest]\n", "utf-8")
        file.write_text(text, "utf-8")


def forget(folder: Path) -> None:
    """Remove what was recorded: what is neither a test nor its values."""
    for path in list(folder.iterdir()):
        if path.is_dir() and path.name != "__pycache__":
            shutil.rmtree(path)


def install(place: Path, *, with_ours: bool) -> None:
    """A folder of packages with pytest and what it needs, and with ours as pip would install it: pytest reads
    the list of files of each package that has a plugin. The packages themselves are links."""
    place.mkdir()
    needed = ["pytest"]
    for name in needed:
        found = distribution(name)
        parts = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
        for part in parts - {"__pycache__"}:
            (place / part).symlink_to(Path(str(found.locate_file(part))))
        plain = [one for one in found.requires or () if ";" not in one]
        needed += [one for text in plain if (one := re.split(r"[^\w-]", text)[0]) not in needed]
    if with_ours:
        package = Path(baselinekit.__file__).parent
        (place / "baselinekit").symlink_to(package)
        about = place / "baselinekit-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Name: baselinekit\nVersion: 1\n", "utf-8")
        plugin = "[pytest11]\nbaselinekit = baselinekit.pytest_plugin.hooks\n"
        (about / "entry_points.txt").write_text(plugin, "utf-8")
        files = sorted(one.relative_to(package.parent) for one in package.rglob("*") if one.is_file())
        (about / "RECORD").write_text("".join(f"{one},,\n" for one in files), "utf-8")
