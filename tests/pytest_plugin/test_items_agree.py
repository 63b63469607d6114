"""Whatever a project holds, `pytest --baselinekit` says of each baseline what `baselinekit compare` says."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from console import ROOT, Console, console, copy_filled

pytestmark = pytest.mark.slow

GOLDEN = ROOT / "tests" / "golden"
PROJECTS = [
    "age",
    "cannot-replay",
    "compare-passes",
    "drafts",
    "git-base",
    "invalid-files",
    "json-form",
    "paths",
    "refresh",
    "strict-rules",
]
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


def compared(terminal: Console, options: str) -> dict[str, str] | None:
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


def variables(folder: Path, url: str) -> None:
    """What the golden cases type as --var stands in the configuration: pytest has no such option."""
    config = folder / "baselinekit.yaml"
    text = config.read_text("utf-8") if config.exists() else "version: 1\n"
    if "variables:" not in text:
        stated = VALUES | {"api_base_url": url, "url": url, "demo_url": url}
        config.write_text(f"{text}\nvariables: {json.dumps(stated)}\n", "utf-8")


def service_of(case: Path) -> str:
    lines = (case / "cmd").read_text("utf-8").splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("# service:")), "demo")


@pytest.mark.parametrize("name", PROJECTS)
def test_items_of_a_golden_project_have_the_outcomes_of_compare(pytester: pytest.Pytester, name: str) -> None:
    """After an upgrade of its service, so that what passes and what fails is there."""
    case = GOLDEN / name
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    outcomes, expected = Outcomes(), None
    for turn in ("compare", "pytest"):  # each with a service of its own: some baselines write
        with console(pytester.path / turn / "project", service_of(case), now) as terminal:
            terminal.service.upgrade()
            copy_filled(case / "files", terminal)
            url = terminal.service.url
            variables(terminal.folder, url)
            if turn == "compare":
                expected = compared(terminal, f"--base-url {url}")
                continue
            os.chdir(terminal.folder)
            options = f"--baselinekit --baselinekit-base-url {url} -p no:cacheprovider -W default --rootdir=."
            code = pytester.inline_run(*options.split(), plugins=[outcomes]).ret
    if expected is None:
        assert outcomes.by_id == {}
        assert outcomes.broken or code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
    else:
        assert not outcomes.broken
        assert outcomes.by_id == expected
