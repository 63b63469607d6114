"""A value that a test hands in: what is compared stands in the test, and only its run can compare it. And the
one rule for which file holds it, by which the plugin reads and writes, and `import` writes."""

import hashlib
import posixpath
from typing import Literal

from baselinekit.frozen import frozen
from baselinekit.kinds.kind import RecipeKind
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Recipe
from baselinekit.texts import Mask


@frozen
class PytestInput:
    """The test by its node id, and which of its values this is, if there are several."""

    test: str
    name: str | None = None


@frozen
class PytestExecution:
    """Nothing has to be said of it."""

    type: Literal["pytest"]


@frozen
class PytestCurrent:
    """`current:` of a value of a test."""

    input: PytestInput
    execution: PytestExecution


class PytestKind(RecipeKind):
    name = "pytest"
    execution = PytestExecution
    currents = (PytestCurrent,)
    asks_nobody = True
    brought_by = "pytest"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"pytest {recipe.input.test}"

    def own_command(self, recipe: Recipe) -> tuple[str, ...]:
        return ("pytest", recipe.input.test)

    def group(self, recipe: Recipe, base_url: object) -> str:
        return "tests"

    def only_reads(self, recipe: Recipe) -> bool:
        return True


KIND = PytestKind()


_OTHER = lazy_pattern(r"[^A-Za-z0-9._-]")
_DOT_BEFORE_NAME = lazy_pattern(r"\.(?![0-9])")
"""In parameters a dot before a digit (`1.5`) is no beginning of a name."""
_LONGEST_FILE, _LONGEST_ID, _HASH = 120, 128, 6


def file_of(test: str, name: str | None = None, folder: str = "baselines") -> str:
    """The file that holds a value of a test, from the project's root: its folder is called like the test's
    file, and it like the class, the function, the parameters and the name of the value.

    `test` is pytest's node id, its file from the project's root: `tests/test_api.py::TestUsers::test_list[a]`
    gives `baselines/tests/test_api/TestUsers.test_list-a.yaml`. Where that would leave out what tells two
    tests apart, a hash of the whole follows."""
    path, _, rest = test.partition("::")
    head, bracket, params = rest.partition("[")
    params = params.removesuffix("]")
    *classes, function = head.split("::")
    stem = ".".join([*classes, function]) + (f"-{params}" if bracket else "") + (f".{name}" if name else "")
    own = "".join([function, params, name or ""])
    is_plain = (
        not _OTHER.search(stem)
        and own == own.lower()  # an id is unique also where upper and lower case are one
        and not (_DOT_BEFORE_NAME.search(params) or (bracket and name and name[0].isdigit()))
        and not (bracket and not params)
        and ".output." not in f"{stem}."  # so files are called that hold an output alone
    )
    parts = [part for part in path.removesuffix(".py").split("/") if part not in ("", ".", "..")]
    is_within = "/".join(parts) == path.removesuffix(".py")
    whole = f"{rest}\0{name or ''}" if is_within else f"{test}\0{name or ''}"
    stem = _OTHER.sub("-", stem).replace(".output.", ".output-")
    stem = _shortened(stem, whole, _LONGEST_FILE, is_plain and is_within)
    return posixpath.join(folder, *parts, f"{stem}.yaml")


def id_of(file: str, folder: str = "baselines") -> str:
    """The id of the baseline in such a file: the words of its path."""
    path = file.removeprefix(f"{folder}/").removesuffix(".yaml")
    above = posixpath.dirname(path)
    text = _OTHER.sub("-", path.replace("/", ".")).lstrip("._-")
    is_plain = not _OTHER.search(above.replace("/", "")) and "." not in above and path[:1].isalnum()
    return _shortened(text, path, _LONGEST_ID, is_plain)


def _shortened(text: str, whole: str, longest: int, is_plain: bool) -> str:
    """The text; behind it a hash of what it stands for, if it does not tell all of that."""
    if is_plain and len(text) <= longest:
        return text
    digits = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{text[: longest - _HASH - 1].rstrip('._-')}-{digits}"
