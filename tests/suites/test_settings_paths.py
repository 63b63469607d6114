"""Paths that eval files name stay inside the project, whatever they are for (F41)."""

from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput, Refused
from baselinekit.suites.dialects.gates import load_gates
from baselinekit.suites.loading import load_cases, load_evals, load_suite
from baselinekit.suites.settings import resolve_named, results_of

HEAD = "id: a\ninput: {type: prompt, content: x}\n"
JUDGE = HEAD + "grader: {type: model, config: {rubric: ok, calibration: %s}}\n"
SCHEMA = HEAD + "grader: {type: code, config: {method: json_schema, schema_file: %s}}\n"
CASE = HEAD + "expected: {value: y}\n"
OUT = [
    "/etc/passwd",
    "../../secret.json",
    "../../project-evil/x.json",
    "link.json",
    "folder/x.json",
    ".git/x.json",
    '"~/x.json"',
    "~ada/x.json",
]
PLACES = [
    "/tmp/x",
    "../../out",
    "..",
    "../../project-evil",
    "folder",
    "../.git/hooks",
    "../.GIT",
    "~/out",
    "'~'",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an eval folder, and links in there that lead out of it."""
    root = tmp_path / "project"
    for name in ("secret.json", "project-evil/x.json", "outside/x.json", "project/evals/.git/x.json"):
        write(tmp_path, name, '{"the": "crown jewels"}')
    (root / ".git").mkdir()
    (root / "evals/link.json").symlink_to(tmp_path / "secret.json")
    (root / "evals/folder").symlink_to(tmp_path / "outside")
    return root


@pytest.mark.parametrize("path", OUT)
@pytest.mark.parametrize(("text", "place"), [(JUDGE, "3:57"), (SCHEMA, "3:65")], ids=["labels", "schema"])
def test_f41_what_a_grader_names_stays_inside(root: Path, text: str, place: str, path: str) -> None:
    write(root, "evals/c.yaml", text % path)
    with pytest.raises(Refused) as caught:
        load_cases(["evals/c.yaml"], str(root))
    assert str(caught.value).startswith(f"BK404 evals/c.yaml:{place}: ")
    assert "jewels" not in str(caught.value)


@pytest.mark.parametrize(
    "config", ["calibration: /etc/passwd, rubric: ok", "calibration: ../../secret.json, rubric: ok"]
)
def test_f41_a_grader_with_a_name_names_nothing_outside_either(root: Path, config: str) -> None:
    write(root, "evals/config/graders.yaml", f"polite: {{type: model, config: {{{config}}}}}\n")
    write(root, "evals/c.yaml", HEAD + "grader: polite\n")
    with pytest.raises(Refused, match=r"BK404 evals/c\.yaml:3:9: "):
        load_cases(["evals/c.yaml"], str(root))


@pytest.mark.parametrize("path", PLACES)
def test_f41_reports_stay_inside(root: Path, path: str) -> None:
    suite = f"eval_suite: {{name: a, evals: [{{$ref: c.yaml}}], reporting: {{output_dir: {path}}}}}\n"
    write(root, "evals/s.yaml", suite)
    write(root, "evals/c.yaml", CASE)
    if path == "..":  # the project itself will do
        load_suite("evals/s.yaml", str(root))
        return
    with pytest.raises(Refused, match=r"BK404 evals/s\.yaml:1:72: "):
        load_suite("evals/s.yaml", str(root))


@pytest.mark.parametrize("path", ["../.github/workflows", "../.baselinekit/runs", "../.Baselinekit"])
def test_reports_are_kept_out_of_what_others_keep_for_themselves(root: Path, path: str) -> None:
    with pytest.raises(Refused, match=r"BK404 .* is not a place for reports"):
        results_of(str(root), "evals/s.yaml", path)


def test_f41_nor_does_the_folder_that_nobody_named_lead_out(root: Path) -> None:
    (root / "evals/results").symlink_to(root.parent / "outside")
    write(root, "evals/s.yaml", "eval_suite: {name: a, evals: [{$ref: c.yaml}]}\n")
    write(root, "evals/c.yaml", CASE)
    with pytest.raises(Refused, match=r"BK404 evals/s\.yaml:1:13: results leads out of the project"):
        load_suite("evals/s.yaml", str(root))
    gate = "eval_trigger: {suite: s.yaml, thresholds: {pass@1: 1}, on_success: {archive_results: true}}\n"
    write(root, "evals/gate.yaml", gate)
    with pytest.raises(Refused, match=r"BK404 evals/gate\.yaml:1:86: "):
        load_gates("evals/gate.yaml", str(root))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../secret.json", "link.json", "folder/x.json", ".git/x.json"]
)
def test_f41_a_gate_names_a_suite_of_the_project(root: Path, path: str) -> None:
    write(root, "evals/gate.yaml", f"eval_trigger: {{suite: {path}, thresholds: {{pass@1: 1}}}}\n")
    with pytest.raises(Refused, match=r"BK404 evals/gate\.yaml:1:23: "):
        load_gates("evals/gate.yaml", str(root))


def test_a_file_that_the_operator_named_elsewhere_has_its_own_folder(root: Path) -> None:
    file = str(root.parent / "outside/c.yaml")
    assert resolve_named(str(root), file, "x.json") == str(root.parent / "outside/x.json")
    with pytest.raises(Refused, match="BK404"):
        resolve_named(str(root), file, "../secret.json")
    assert resolve_named(str(root), "evals/c.yaml", "x/../y.json") == "evals/y.json"
    assert resolve_named(str(root), "evals/c.yaml", str(root / "evals/y.json")) == "evals/y.json"


def test_reports_that_a_suite_keeps_among_its_cases_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "evals/c.yaml", CASE)
    write(tmp_path, "evals/out/2024-01-20/run-1.json", '{"format": "baselinekit.results/1", "results": []}')
    write(tmp_path, "evals/out/2024-01-20/run-1.eval.json", '{"eval_report": {}}')
    assert [case.id for case in load_evals(["evals"], str(tmp_path)).cases] == ["a"]
    with pytest.raises(InvalidInput, match="this looks like the report of a run"):
        load_evals(["evals/out/2024-01-20/run-1.eval.json"], str(tmp_path))


@pytest.mark.parametrize("text", [JUDGE % r'"a\0b"', SCHEMA % r'"a\0b"'])
def test_a_name_that_no_file_can_have_is_told(root: Path, text: str) -> None:
    write(root, "evals/c.yaml", text)
    with pytest.raises(InvalidInput, match=r"BK111 evals/c\.yaml:3:"):
        load_cases(["evals/c.yaml"], str(root))
