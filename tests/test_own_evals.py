"""Our own evals: `evals/` is run against the demo service, its model and the demo skill."""

import json
import shutil
from pathlib import Path

import pytest
from console import ROOT, Console, console

pytestmark = pytest.mark.slow

RUN = "baselinekit run --allow-exec --var demo_url={url} --var api_base_url={url} -o results.json"


def ours(terminal: Console) -> None:
    """A copy: a run writes its reports beside its suite."""
    for name in ("evals", "baselines"):
        shutil.copytree(
            ROOT / name, terminal.folder / name, ignore=shutil.ignore_patterns("results", ".*.jsonl")
        )
    shutil.copy(ROOT / "baselinekit.yaml", terminal.folder)
    imported = terminal.run("baselinekit grade --import evals/people/fixtures/ratings.yaml", together=True)
    assert (imported.exit_code, imported.stdout) == (
        0,
        "2 new ratings, 0 known already, 0 not filled in, 1 new item\n",
    )


@pytest.mark.parametrize(
    ("wanted", "count"), [("", 14), (" --suite evals/eval-suite.yaml", 9), (" summary", 4)]
)
def test_own_evals_pass(wanted: str, count: int, tmp_path: Path) -> None:
    with console(tmp_path / "x", "demo") as terminal:
        ours(terminal)
        ran = terminal.run(f"CI=true {RUN}{wanted}", together=True)
        assert ran.exit_code == 0, ran.stdout
        summary = json.loads((terminal.folder / "results.json").read_text())["summary"]
    assert (summary["passed"], summary["failed"], summary["error"], summary["skipped"]) == (count, 0, 0, 0)


def test_own_evals_fail_for_replaced_model(tmp_path: Path) -> None:
    with console(tmp_path / "x", "demo") as terminal:
        ours(terminal)
        terminal.service.upgrade()
        file = terminal.folder / "baselinekit.yaml"
        file.write_text(file.read_text().replace("openai: demo-1.0", "openai: demo-2.0"))
        ran = terminal.run(f"CI=true {RUN}", together=True)
        results = json.loads((terminal.folder / "results.json").read_text())["results"]
    assert ran.exit_code == 1, ran.stdout
    failed = {result["id"] for result in results if result["outcome"] == "failed"}
    strings = {f"cap-string-001/tc-00{n}" for n in (1, 2, 3, 4)}
    assert failed == {*strings, "cap-codegen-001", "reg-api-001", "summary/mill"}
