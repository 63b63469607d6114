"""Paths that eval files name stay inside the project (F41), and where the reports of a suite are kept."""

import os
from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput, Refused
from baselinekit.evals.judges import judges_of
from baselinekit.suites.loading import load_cases, load_suite
from baselinekit.suites.settings import resolve_named, results_of, write_reports
from baselinekit.suites.suite import load_gates

HEAD = "id: a\ninput: {type: prompt, content: x}\n"
JUDGE = HEAD + "grader: {type: model, config: {rubric: ok, calibration: %s}}\n"
SUITE = "eval_suite: {name: a, evals: [{$ref: c.yaml}]%s}\n"
GATE = "eval_trigger: {suite: %s, thresholds: {pass@1: 1}%s}\n"
OUT = [
    "/etc/passwd",
    "../../secret.json",
    "../../project-evil/x.json",
    "link.json",
    "folder/x.json",
    ".git/x.json",
]
PLACES = ["/tmp/x", "../../out", "folder", "../.git/hooks", "../.GIT", "~/out", "'~'"]
PLACES += ["../.github/workflows", "../.baselinekit/runs", "../.Baselinekit"]
TEXTS = {".json": "{}\n", ".md": "# x\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an eval folder, and links in there that lead out of it."""
    root = tmp_path / "project"
    for name in ("secret.json", "project-evil/x.json", "outside/x.json", "project/evals/.git/x.json"):
        write(tmp_path, name, '{"the": "crown jewels"}')
    (root / ".git").mkdir()
    (root / "evals/link.json").symlink_to(tmp_path / "secret.json")
    (root / "evals/folder").symlink_to(tmp_path / "outside")
    write(root, "evals/c.yaml", HEAD + "expected: {value: y}\n")
    return root


@pytest.mark.parametrize("path", [*OUT, '"~/x.json"', "~ada/x.json"])
def test_f41_labels_of_a_judge_outside_the_project_are_refused(root: Path, path: str) -> None:
    """Its own files are read before any question: test_x5_paths_begin_at_the_file_with_them."""
    for name, error, code in ((path, Refused, "BK404"), (r'"a\0b"', InvalidInput, "BK111")):
        cases = load_cases([write(root, "evals/c.yaml", JUDGE % name)], str(root))
        with pytest.raises(error, match=code) as caught:
            judges_of(str(root), cases)
        assert "jewels" not in str(caught.value)


@pytest.mark.parametrize("path", PLACES)
def test_f41_reports_outside_the_project_are_refused(root: Path, path: str) -> None:
    write(root, "evals/s.yaml", SUITE % f", reporting: {{output_dir: {path}}}")
    with pytest.raises(Refused, match=r"BK404 evals/s\.yaml:1:72: "):
        load_suite("evals/s.yaml", str(root))


def test_f41_default_folder_that_leads_out_is_refused(root: Path) -> None:
    assert results_of(str(root), "evals/s.yaml", "..") == f"{root}/."  # the project itself will do
    (root / "evals/results").symlink_to(root.parent / "outside")
    write(root, "evals/s.yaml", SUITE % "")
    with pytest.raises(Refused, match=r"BK404 evals/s\.yaml:1:13: results leads out of the project"):
        load_suite("evals/s.yaml", str(root))
    write(root, "evals/gate.yaml", GATE % ("s.yaml", ", on_success: {archive_results: true}"))
    with pytest.raises(Refused, match=r"BK404 evals/gate\.yaml:1:86: "):
        load_gates("evals/gate.yaml", str(root))


@pytest.mark.parametrize("path", [path for path in OUT if "evil" not in path])
def test_f41_gate_with_a_suite_outside_the_project_is_refused(root: Path, path: str) -> None:
    write(root, "evals/gate.yaml", GATE % (path, ""))
    with pytest.raises(Refused, match=r"BK404 evals/gate\.yaml:1:23: "):
        load_gates("evals/gate.yaml", str(root))


def test_f41_resolve_named_from_a_file_outside_the_project(root: Path) -> None:
    file = str(root.parent / "outside/c.yaml")
    assert resolve_named(str(root), file, "x.json") == str(root.parent / "outside/x.json")
    with pytest.raises(Refused, match="BK404"):
        resolve_named(str(root), file, "../secret.json")
    assert resolve_named(str(root), "evals/c.yaml", "x/../y.json") == "evals/y.json"
    assert resolve_named(str(root), "evals/c.yaml", str(root / "evals/y.json")) == "evals/y.json"


def kept(root: Path, started: str = "2024-01-20T14:30:52Z") -> list[str]:
    written, reason = write_reports(str(root), "s.yaml", None, started, TEXTS)
    assert reason == ""
    return [os.path.relpath(path, root / "results") for path in written]


def test_h64_write_reports_by_day_and_links_latest(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    assert kept(tmp_path) == ["2024-01-20/run-143052.json", "2024-01-20/run-143052.md"]
    assert (folder / "latest" / "run-143052.md").read_text() == "# x\n"
    assert os.readlink(folder / "latest") == "2024-01-20"
    assert kept(tmp_path) == ["2024-01-20/run-143052-2.json", "2024-01-20/run-143052-2.md"]
    kept(tmp_path, "2024-01-21T00:00:01Z")
    assert os.readlink(folder / "latest") == "2024-01-21"


@pytest.mark.parametrize("kind", ["a folder", "a file", "a link out"])
def test_h64_write_reports_leaves_a_foreign_latest_as_it_is(tmp_path: Path, kind: str) -> None:
    latest = tmp_path / "latest"
    if kind == "a folder":
        latest.mkdir()
    elif kind == "a file":
        latest.write_text("precious")
    else:
        latest.symlink_to("/tmp")
    before = latest.lstat()
    written, reason = write_reports(str(tmp_path), "s.yaml", ".", "2024-01-20T14:30:52Z", TEXTS)
    assert (latest.lstat().st_ino, latest.lstat().st_mtime) == (before.st_ino, before.st_mtime)
    assert [os.path.basename(path) for path in written] == ["run-143052.json", "run-143052.md"]
    assert reason.startswith("BK120 latest was not made by baselinekit")


def test_f41_write_reports_into_a_day_that_is_a_link_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "p", tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    (root / "2024-01-20").symlink_to(outside)
    with pytest.raises(Refused, match="BK404"):
        write_reports(str(root), "s.yaml", ".", "2024-01-20T14:30:52Z", TEXTS)
    assert list(outside.iterdir()) == []
