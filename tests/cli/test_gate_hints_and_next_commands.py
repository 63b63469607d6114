"""Whatever a command or a report says to type next can be typed, and finds what it is about."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

CONFIG = """\
skills: {upper: {python: "skills:upper"}}
commands: {greet: [echo, hello]}
"""
FILES = {
    "baselinekit.yaml": CONFIG,
    "skills.py": "def upper(input):\n    return input.upper()\n",
    "baselines/greeting.yaml": """\
id: greeting
current: {input: {argv: [greet]}, execution: {type: command}}
baseline: {output: {stdout: "bye\\n"}}
""",
    "evals/cases.yaml": """\
- id: louder
  input: {type: skill, content: abc}
  execution: {type: skill, skill_name: upper}
  expected: {type: exact, value: abc}
- id: louder-too
  input: {type: skill, content: '{"a": 1}'}
  execution: {type: skill, skill_name: upper}
  expected: {value: {a: 1}}
  grader: {type: code, config: {method: structural_match}}
- id: louder-still
  input: {type: skill, content: abc}
  execution: {type: skill, skill_name: upper}
  expected: {type: exact, value: ABC}
""",
    "evals/regression/known.yaml": """\
id: known
current: {input: abc, execution: {type: skill, skill_name: upper}}
baseline: {output: abd}
""",
    "evals/regression/new.yaml": """\
id: new
current: {input: abc, execution: {type: skill, skill_name: upper}}
""",
    "elsewhere/other.yaml": """\
id: other
current: {input: {argv: [greet]}, execution: {type: command}}
baseline: {output: {stdout: "bye\\n"}}
""",
}
_TYPED = re.compile(r"(?:next: |`|<code>|Is the new answer right\? |accept it: )(baselinekit [^\n`<%]+)")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        for name, text in FILES.items():
            file = terminal.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        yield terminal


def suggested(text: str) -> list[str]:
    return [html.unescape(one).strip() for one in dict.fromkeys(_TYPED.findall(text))]


def typed(here: Console, commands: list[str]) -> None:
    """Each is run. What would ask in a terminal only shows what it would do."""
    assert commands
    for command in commands:
        if command.startswith("baselinekit refresh") and "--" not in command.replace("--all-failed", ""):
            command = f"{command} --dry-run"
        ran = here.run(command)
        assert ran.exit_code in (0, 1, 3), f"{command}\n{ran.stdout}{ran.stderr}"
        assert "BK5" not in ran.stderr, f"{command}\n{ran.stderr}"


def test_what_a_capture_among_evals_says_next_runs_it(here: Console) -> None:
    said = here.run("baselinekit capture evals/regression/new.yaml").stdout
    assert suggested(said) == ["baselinekit run --id new"]
    typed(here, suggested(said))


def test_what_failed_is_seen_and_renewed_by_the_verb_of_what_it_is(here: Console) -> None:
    (here.folder / "evals/regression/new.yaml").unlink()
    said = here.run("baselinekit run -o r.md -o r.html -o github -o r.json").stdout
    pages = "".join((here.folder / name).read_text() for name in ("r.md", "r.html"))
    found = suggested(said + pages)
    assert "baselinekit run --id louder -v" in found
    assert "baselinekit refresh evals/regression/known.yaml" in found
    assert not [one for one in found if "refresh" in one and "known" not in one]  # nobody can take a case
    assert not [one for one in found if "compare" in one or "\\" in one]
    typed(here, found)
    gate = here.run("baselinekit gate r.json --preset development")
    typed(here, suggested(gate.stdout))
    renewed = here.run("baselinekit refresh evals/regression/known.yaml --yes").stdout
    assert suggested(renewed) == ["baselinekit run --id known"]
    typed(here, suggested(renewed))
    kept = here.run("baselinekit refresh evals/regression/known.yaml").stderr
    assert "baselinekit run --id known, or refresh --replay" in kept


@pytest.mark.parametrize("paths", ["", " elsewhere/other.yaml", " elsewhere baselines"])
def test_a_baseline_is_compared_wherever_it_lies(here: Console, paths: str) -> None:
    said = here.run(f"baselinekit compare{paths} -o c.md").stdout
    typed(here, suggested(said))
    if not paths:
        typed(here, suggested((here.folder / "c.md").read_text()))
    shown = here.run(f"baselinekit refresh{paths or ' greeting'} --yes").stdout
    typed(here, suggested(shown))


@pytest.mark.parametrize("verb", ["refresh", "compare", "capture", "review"])
def test_a_file_of_cases_given_to_who_wants_baselines_is_one_line_with_the_verb(
    here: Console, verb: str
) -> None:
    ran = here.run(f"baselinekit {verb} evals/cases.yaml")
    (line,) = ran.stderr.splitlines()
    assert ran.exit_code == 2
    assert line.endswith("this looks like a capability eval: baselinekit run evals/cases.yaml")
