"""Whatever a project holds, `pytest --baselinekit` says of each baseline what `baselinekit compare` says."""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from console import ROOT, Console, console, copy_filled

GOLDEN = ROOT / "tests" / "golden"
PROJECTS = sorted(path.parent.parent for path in GOLDEN.glob("*/files/baselines"))
NOT_A_PASS = {"failed": "failed", "passed": "passed", "error": "error", "unscored": "error"}
"""What pytest says of each outcome; of what was skipped it depends on why: by its file, or by a limit."""

VALUES = {"test_token": "a-token", "token": "a-token", "user": "ada"}


class Outcomes:
    """A plugin of the inner session that keeps what became of each item."""

    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}
        self.broken = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        id = report.nodeid.partition("::")[2]
        if report.when == "call" or not report.passed:
            word = "error" if report.failed and report.when != "call" else report.outcome
            self.by_id.setdefault(id, word)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.broken |= report.failed


def compare_outcomes(terminal: Console, options: str) -> dict[str, str] | None:
    """By id; None where the files are such that nothing was replayed."""
    ran = terminal.run(f"baselinekit compare --no-record {options} -o results.json")
    results = terminal.folder / "results.json"
    if not results.is_file():
        assert ran.exit_code in (2, 4, 5), ran.stderr
        return None
    found = {}
    for result in json.loads(results.read_text("utf-8"))["results"]:
        limited = "error" if result.get("code") else "skipped"
        found[result["id"]] = NOT_A_PASS.get(result["outcome"], limited)
    return found


def state_variables(folder: Path, url: str) -> None:
    """What the golden cases type as --var stands in the configuration: pytest has no such option."""
    config = folder / "baselinekit.yaml"
    text = config.read_text("utf-8") if config.exists() else "version: 1\n"
    if "variables:" not in text:
        stated = VALUES | {"api_base_url": url, "url": url, "demo_url": url}
        config.write_text(f"{text}\nvariables: {json.dumps(stated)}\n", "utf-8")


def service_of(case: Path) -> str:
    lines = (case / "cmd").read_text("utf-8").splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("# service:")), "demo")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in PROJECTS])
@pytest.mark.parametrize("upgraded", [False, True], ids=["before", "after"])
def test_plugin_says_of_each_golden_baseline_what_compare_says(
    pytester: pytest.Pytester, case: Path, upgraded: bool
) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    outcomes, expected = Outcomes(), None
    for turn in ("compare", "pytest"):  # each with a service of its own: some baselines write
        with console(pytester.path / turn / "project", service_of(case), now) as terminal:
            if upgraded:
                terminal.service.upgrade()
            copy_filled(case / "files", terminal)
            url = terminal.service.url
            state_variables(terminal.folder, url)
            if turn == "compare":
                expected = compare_outcomes(terminal, f"--base-url {url}")
                continue
            os.chdir(terminal.folder)
            options = [
                "--baselinekit",
                "--baselinekit-base-url",
                url,
                "-p",
                "no:cacheprovider",
                "-W",
                "default",
            ]
            code = pytester.inline_run(*options, "--rootdir=.", plugins=[outcomes]).ret
    if expected is None:
        assert outcomes.by_id == {}
        assert outcomes.broken or code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
    else:
        assert not outcomes.broken
        assert outcomes.by_id == expected


def read_junit(file: Path) -> dict[str, str]:
    (suite,) = ElementTree.parse(file).getroot()
    words = {"failure": "failed", "error": "error", "skipped": "skipped"}
    return {str(case.get("name")): next((words[child.tag] for child in case), "passed") for case in suite}


def test_plugin_says_of_our_own_baselines_what_compare_says(tmp_path: Path) -> None:
    """Requests, commands, skills, and prompts that a model judges."""
    said: list[dict[str, str] | None] = []
    for turn in ("compare", "pytest"):
        with console(tmp_path / turn, "demo") as terminal:
            shutil.copytree(ROOT / "baselines", terminal.folder / "baselines")
            config = (ROOT / "baselinekit.yaml").read_text("utf-8")
            url = terminal.service.url
            moved = config.replace("http://127.0.0.1:8000", url)
            (terminal.folder / "baselinekit.yaml").write_text(moved, "utf-8")
            if turn == "compare":
                said.append(compare_outcomes(terminal, f"--base-url {url}"))
            else:
                options = "-p no:cacheprovider --baselinekit --junitxml=all.xml"
                terminal.run(f"python -m pytest {options} --baselinekit-base-url {url}")
                said.append(read_junit(terminal.folder / "all.xml"))
    assert said[0] == said[1]
    assert len(said[1] or ()) >= 15
