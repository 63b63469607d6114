"""Which baselines are unused: only those of which a run that covered everything says so, and nothing else is
ever removed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from baselinekit.files.languages import dump_yaml
from baselinekit.kinds.pytest import file_of, id_of
from baselinekit.pytest_plugin.session import Run, Used
from baselinekit.pytest_plugin.unused import Unused, find_unused, lines_of_unused, remove
from baselinekit.structs import replace

A, B, C = "tests/test_a.py::test_one", "tests/test_a.py::test_two[x]", "tests/test_b.py::TestIt::test_three"


def keep(root: Path, test: str, value: object = 1, name: str | None = None, **more: object) -> Path:
    """A baseline as the plugin writes it."""
    file = file_of(test, name)
    stated = {"output": value} if "output_file" not in more else {"output_file": more.pop("output_file")}
    asked = {"test": test} | ({"name": name} if name else {})
    record = {
        "id": id_of(file),
        "baseline": {**stated, "captured_at": "2026-01-01T00:00:00Z"},
        "current": {"input": asked, "execution": {"type": "pytest"}},
        **more,
    }
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_yaml(record), "utf-8")
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with two files of tests and a baseline of each of their tests."""
    root = tmp_path.resolve()
    (root / "baselinekit.yaml").write_text("version: 1\n", "utf-8")
    (root / "tests").mkdir()
    for name in ("test_a.py", "test_b.py"):
        (root / "tests" / name).write_text("", "utf-8")
    for test in (A, B, C):
        keep(root, test)
    return root


def covered(tests: Iterable[str] = (A, B, C), **facts: Any) -> Run:
    """A run of these tests to their end, which all passed."""
    tests = set(tests)
    looked = {"": "passed", "tests": "passed", "tests/test_a.py": "passed", "tests/test_b.py": "passed"}
    stated = {"collected": tests, "ended": tests, "looked": looked} | facts
    return Run(**stated)


def found(root: Path, run: Run, used: Iterable[str] = (), rootdir: Path | None = None) -> list[Unused]:
    """`used`: tests whose (only) file was used."""
    files: list[Used] = [(str(root), file_of(test), "compared", []) for test in used]
    unused, partial = find_unused(replace(run, used=files), str(rootdir or root), {str(root): "baselines"})
    assert not partial
    return unused


def reasons(unused: Iterable[Unused]) -> list[str]:
    return sorted(item.reason for item in unused)


def removed(unused: Iterable[Unused]) -> list[str]:
    return [line for item in unused for line in remove(item)]


def test_find_unused_lists_tests_that_are_gone_or_passed_without(root: Path) -> None:
    assert found(root, covered(), [A, B, C]) == []
    assert reasons(found(root, covered([A, B]), [A])) == [f"{B} passed without it", f"{C} is gone"]


def test_find_unused_lists_a_name_that_its_test_lost(root: Path) -> None:
    keep(root, A, name="second")
    second = found(root, covered(), [A, B, C])
    assert [item.baseline.source.file for item in second] == ["baselines/tests/test_a/test_one.second.yaml"]


def test_find_unused_leaves_out_files_of_a_failed_test(root: Path) -> None:
    """It may have failed, or been skipped, before it came to them."""
    keep(root, A, name="second")
    assert found(root, covered(unproven={A}), [B, C]) == []


def test_find_unused_leaves_out_other_parameters(root: Path) -> None:
    """An option such as `--browser`, or a variable, may have chosen them for this run."""
    assert found(root, covered([A, "tests/test_a.py::test_two[y]", C]), [A, C]) == []


PARTIAL = [
    ({"ended": {A, B}}, "1 test did not finish"),
    (
        {"looked": {"tests/test_b.py": "passed"}, "collected": {C}, "ended": {C}},
        "tests/test_a.py was not collected",
    ),
]


@pytest.mark.parametrize(("facts", "why"), PARTIAL)
def test_find_unused_of_a_part_claims_nothing(root: Path, facts: dict[str, Any], why: str) -> None:
    keep(root, "tests/test_gone.py::test_it")
    assert find_unused(covered(**facts), str(root), {str(root): "baselines"}) == ([], why)
    assert list(lines_of_unused([], why, False)) == []
    wanted = f"no baseline was removed: {why}; only a run of everything tells what is unused"
    assert list(lines_of_unused([], why, True)) == [wanted]


def test_find_unused_lists_a_test_file_that_is_gone(root: Path) -> None:
    """It need not be among the arguments: nobody can run it."""
    (root / "tests/test_b.py").unlink()
    looked = {"tests/test_a.py": "passed"}
    assert reasons(found(root, covered([A, B], looked=looked), [A, B])) == [f"{C} is gone"]


_OURS = "baseline: {output: 1}\ncurrent: {input: {test: t.py::x}, execution: {type: pytest}}\n"
NOT_OURS = {"two in a file": f"id: x\n{_OURS}---\nid: y\n{_OURS}", "no text": "pytest\x00"}


@pytest.mark.parametrize("what", NOT_OURS)
def test_find_unused_leaves_out_other_files(root: Path, what: str) -> None:
    path = root / "baselines/x.yaml"
    path.write_text(NOT_OURS[what], "utf-8")
    assert found(root, covered(), [A, B, C]) == []


def test_find_unused_leaves_out_links_and_other_projects(root: Path) -> None:
    path = keep(root, "tests/test_gone.py::test_it")
    path.rename(root / "elsewhere.yaml")
    path.symlink_to(root / "elsewhere.yaml")
    inner = root / "baselines/inner"
    inner.mkdir()
    (inner / "baselinekit.yaml").write_text("version: 1\n", "utf-8")
    keep(inner, "tests/test_gone.py::test_it")
    assert found(root, covered(), [A, B, C]) == []


def test_prune_removes_only_listed_baselines(root: Path) -> None:
    gone = keep(
        root, "tests/unit/test_gone.py::test_it", output_file="tests.unit.test_gone.test_it.output.json"
    )
    beside = gone.with_name("tests.unit.test_gone.test_it.output.json")
    beside.write_text("[1]", "utf-8")
    (root / "tests/x.output.json").write_text("1", "utf-8")
    leads_out = keep(root, "tests/test_lost.py::test_it", output_file="../../../tests/x.output.json")
    keep(root, A, name="second")
    mine = root / "baselines/tests/test_a/notes.txt"
    mine.write_text("mine", "utf-8")
    unused = found(root, covered(), [A, B, C])
    before = {path for path in root.rglob("*") if path.is_file()}
    assert len(unused) == 3
    assert removed(unused) == []
    second = root / "baselines/tests/test_a/test_one.second.yaml"
    after = {path for path in root.rglob("*") if path.is_file() and ".baselinekit" not in path.parts}
    assert before - after == {gone, beside, second, leads_out}
    assert not (root / "baselines/tests/unit").exists()
    assert next(lines_of_unused(unused, "", True)) == "3 baselines used by no test (removed):"
    assert found(root, covered(), [A, B, C]) == []


def test_prune_reports_files_that_cannot_be_removed(root: Path) -> None:
    gone = keep(root, "tests/test_gone.py::test_it")
    unused = found(root, covered(), [A, B, C])
    gone.unlink()
    gone.mkdir()
    assert removed(unused)[0].startswith("baselines/tests/test_gone/test_it.yaml is still there: ")
