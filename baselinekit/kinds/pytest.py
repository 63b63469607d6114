"""A value from a test: the value to compare is made by the test, so only a run of the test can compare it.
Also the single rule for the file and the record of its baseline, which the plugin and `convert` follow."""

import hashlib
import posixpath
import shlex
from collections.abc import Mapping
from typing import Literal

from baselinekit.errors import cannot_replay
from baselinekit.kinds.kind import RecipeKind, current_form
from baselinekit.kinds.settings import Setting
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.structs import Struct
from baselinekit.values.texts import Mask


class PytestInput(Struct):
    """The test by its node id, and the name of the value if the test has several."""

    test: str
    name: str | None = None


class PytestExecution(Struct):
    """It has no settings."""

    type: Literal["pytest"]


def new_record(
    id: str, test: str, name: str | None, output: Json, moment: str, rules: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the record of a value that was seen at a moment, with the rules that it is compared by."""
    value_input = {"test": test} if name is None else {"test": test, "name": name}
    return {
        "id": id,
        "baseline": {"output": output, "captured_at": moment},
        "current": {"input": value_input, "execution": {"type": "pytest"}},
        **({"comparison": rules} if rules else {}),
        "metadata": {"last_passed": None, "failure_count": 0},
    }


_UNSAFE = lazy_pattern(r"[^A-Za-z0-9._-]")
_DOT_BEFORE_NAME = lazy_pattern(r"\.(?![0-9])")
"""In parameters, a dot before a digit (`1.5`) does not begin a name."""


_LONGEST_FILE, _LONGEST_ID, _HASH_LENGTH = 120, 128, 6


def file_of(test: str, name: str | None = None, folder: str = "baselines") -> str:
    """Return the file that holds a value of a test, relative to the project's root: its folder is named after
    the test's file, the file after the class, the function, the parameters and the name of the value.

    `test` is pytest's node id, its file relative to the root: `tests/test_api.py::TestUsers::test_list[a]`
    gives `baselines/tests/test_api/TestUsers.test_list-a.yaml`. Where two tests could get the same file, a
    hash of the whole is added."""
    path, _, rest = test.partition("::")
    head, bracket, params = rest.partition("[")
    params = params.removesuffix("]")
    *classes, function = head.split("::")
    stem = ".".join([*classes, function]) + (f"-{params}" if bracket else "") + (f".{name}" if name else "")
    names = "".join([function, params, name or ""])
    is_plain = (
        not _UNSAFE.search(stem)
        and names == names.lower()  # ids differ even on case-insensitive file systems
        and not (_DOT_BEFORE_NAME.search(params) or (bracket and name and name[0].isdigit()))
        and not (bracket and not params)
        and ".output." not in f"{stem}."  # the names of files that hold only an output
    )
    parts = [part for part in path.removesuffix(".py").split("/") if part not in ("", ".", "..")]
    is_within = "/".join(parts) == path.removesuffix(".py")
    identity = f"{rest}\0{name or ''}" if is_within else f"{test}\0{name or ''}"
    stem = _UNSAFE.sub("-", stem).replace(".output.", ".output-")
    stem = _shorten(stem, identity, _LONGEST_FILE, is_plain and is_within)
    return posixpath.join(folder, *parts, f"{stem}.yaml")


def id_of(file: str, folder: str = "baselines") -> str:
    """Return the id of the baseline in such a file: the words of its path."""
    path = file.removeprefix(f"{folder}/").removesuffix(".yaml")
    above = posixpath.dirname(path)
    text = _UNSAFE.sub("-", path.replace("/", ".")).lstrip("._-")
    is_plain = not _UNSAFE.search(above.replace("/", "")) and "." not in above and path[:1].isalnum()
    return _shorten(text, path, _LONGEST_ID, is_plain)


def _shorten(text: str, identity: str, longest: int, is_plain: bool) -> str:
    """Return the text, cut to `longest` and with a hash of `identity` added unless it is plain and short."""
    if is_plain and len(text) <= longest:
        return text
    digits = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{text[: longest - _HASH_LENGTH - 1].rstrip('._-')}-{digits}"


class PytestKind(RecipeKind):
    name = "pytest"
    execution = PytestExecution
    currents = (current_form("Pytest", PytestInput, PytestExecution),)
    asks_nobody = True
    brought_by = "pytest"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"pytest {recipe.input.test}"

    def group(self, recipe: Recipe, base_url: object) -> str:
        return "tests"

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        command = shlex.join(PYTEST.own_command(recipe))
        raise cannot_replay("BK356", "what a test compares is compared when pytest runs it", command)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Nothing to check: no request is sent."""


PYTEST = PytestKind()
