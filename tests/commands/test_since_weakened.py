"""--base: what a change does to the baselines; --config-from: whose configuration counts."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.commands.since import find_weakened
from baselinekit.errors import InvalidInput
from baselinekit.model.results import BaselineChanges, Report
from baselinekit.report import resultfile as result_file
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.forms.markdown import render
from baselinekit.report.sections import weakened_blocks
from baselinekit.report.wording import Style

pytestmark = pytest.mark.slow

RECORD = """\
id: {id}
baseline:
  output: {{status: 200, body: {{name: Ada}}}}
  captured_at: "2026-01-01T10:00:00Z"
current:
  input: {{endpoint: /users}}
  execution: {{type: http}}
metadata:
  last_passed: null
  failure_count: 0
"""
LARGE = RECORD.replace("output: {{status: 200, body: {{name: Ada}}}}", "output_file: {id}.output.json")
FILES = {
    "baselinekit.yaml": "base_url: http://127.0.0.1:9\nplaceholders: {order: 'O-\\d'}\n",
    "baselines/a.yaml": RECORD.format(id="a"),
    "baselines/b.yaml": RECORD.format(id="b"),
    "baselines/large.yaml": LARGE.format(id="large"),
    "baselines/large.output.json": '{"status": 200, "body": [1, 2]}\n',
    "baselines/.hidden/x.yaml": "no baseline",
}


@pytest.fixture
def here(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path / "checkout")
    checkout.commit(FILES)
    checkout.git("checkout", "-q", "-b", "pr")
    return checkout


def beside(here: Checkout, ref: str = "main", strict: bool = True) -> BaselineChanges:
    return find_weakened(here.project(), here.asked(), ref, strict)


def told(found: BaselineChanges) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {one.id: (one.change, one.how) for one in found.changes}


def replace(here: Checkout, name: str, old: str, new: str) -> None:
    text = (here.folder / name).read_text()
    assert old in text
    here.write({name: text.replace(old, new)})


def report(found: BaselineChanges) -> Report:
    return Report("compare-1", "2026-01-01T10:00:00Z", 0.1, "baselinekit", "compare", (), against=found)


def test_f57_added_removed_and_loosened_baselines_are_listed_and_fail_where_asked(here: Checkout) -> None:
    assert told(beside(here)) == {}
    replace(here, "baselines/a.yaml", "name: Ada", "name: <<any>>")
    replace(here, "baselines/large.output.json", ", 2", ", 3")
    replace(here, "baselines/large.yaml", "failure_count: 0", "failure_count: 3")
    (here.folder / "baselines/b.yaml").unlink()
    here.write({"baselines/c.yaml": RECORD.format(id="c")})
    here.commit()
    found = beside(here)
    where = 'baseline.output.body.name: a value became a placeholder: "Ada" -> "<<any>>"'
    assert told(found) == {
        "a": ("loosened", (where,)),
        "b": ("removed", ()),
        "c": ("added", ()),
        "large": ("changed", ("baseline.output.body[1]: another expectation: 2 -> 3",)),
    }
    assert [(one.file, one.line) for one in found.changes] == [
        ("baselines/a.yaml", 3),
        ("baselines/b.yaml", None),
        ("baselines/c.yaml", 1),
        ("baselines/large.output.json", 1),
    ]
    assert report(found).exit_code == 1
    assert report(beside(here, strict=False)).exit_code == 5


def test_f57_the_configuration_is_looked_at_too(here: Checkout) -> None:
    replace(here, "baselinekit.yaml", "O-\\d", ".*")
    replace(here, "baselinekit.yaml", "base_url", "baselines: [elsewhere]\nbase_url")
    found = told(beside(here))
    assert found["baselinekit.yaml"] == (
        "loosened",
        ("baselines is now a different one", "placeholders is now a different one: order"),
    )
    assert {id for id, (change, _) in found.items() if change == "removed"} == {"a", "b", "large"}


def test_a_file_that_could_not_be_read_then_is_said(here: Checkout) -> None:
    here.commit({"baselines/b.yaml": "id: [\n"})
    here.git("tag", "broken")
    here.commit({"baselines/b.yaml": RECORD.format(id="b")})
    found = beside(here, "broken")
    assert told(found) == {"b": ("added", ())}
    assert found.notes == (
        "baselines/b.yaml could not be read as it was at broken: what it held counts as added",
    )


def test_links_and_files_outside_are_not_followed_then(here: Checkout) -> None:
    (here.folder / "baselines/link.yaml").symlink_to("../../outside.yaml")
    (here.folder / "baselines/again.yaml").symlink_to("a.yaml")
    here.commit()
    here.git("tag", "linked")
    (here.folder / "baselines/link.yaml").unlink()
    (here.folder / "baselines/again.yaml").unlink()
    found = beside(here, "linked")
    assert told(found) == {}
    again, link = found.notes
    assert "baselines/again.yaml could not be read" in again
    assert "baselines/link.yaml could not be read" in link


def test_config_from_is_the_configuration_of_that_commit(here: Checkout) -> None:
    here.commit({"baselinekit.yaml": "base_url: http://evil.example\ncommands: {sh: [sh]}\n"})
    here.commit({"baselines/baselinekit.yaml": "base_url: http://evil.example\n"})
    project = here.project(config_from="main")
    assert project.base_url == "http://127.0.0.1:9"
    assert project.commands == {}
    below = here.project("baselines", config_from="main")  # the nearer one came with the pull request
    assert (below.base_url, below.root) == ("http://127.0.0.1:9", str(here.folder))
    (here.folder / "baselinekit.yaml").unlink()
    assert here.project(config_from="main").base_url == "http://127.0.0.1:9"
    assert here.project(config_from="main", config="baselinekit.yaml").base_url == "http://127.0.0.1:9"


def test_config_from_a_commit_without_one(here: Checkout) -> None:
    here.git("rm", "-q", "baselinekit.yaml")
    here.commit()
    here.git("tag", "none")
    here.commit({"baselinekit.yaml": "base_url: http://evil.example\n"})
    assert here.project(config_from="none").base_url is None
    with pytest.raises(InvalidInput, match=r"BK111 other.yaml: does not exist at"):
        here.project(config_from="none", config="other.yaml")


ASKS = {
    "an upload of a step": ("steps: [{endpoint: /a}, {endpoint: /u, files: {f: more.txt}}]", "type: http"),
    "a template": ("prompt: more.txt", "type: prompt"),
    "inputs": ("text: '{{a}}', inputs: {a: {file: more.txt}}", "type: prompt"),
    "a file of inputs": ("text: '{{a}}', inputs_from: more.txt", "type: prompt"),
    "a skill's named file": ("code: more.txt", "type: skill, skill_name: s"),
    "a body": ("method: POST, endpoint: /u, body: {file: more.txt}", "type: http"),
    "a rubric": ("text: x", "type: prompt, scores: {rubric: more.txt}"),
    "a command's option": ("argv: [says, --in=more.txt], cwd: .", "type: command"),
}
ASKING = """\
id: {id}
baseline: {{output: {{status: 200}}}}
current:
  input: {{{input}}}
  execution: {{{execution}}}
"""


@pytest.mark.parametrize("how", ASKS)
def test_another_request_file_is_another_question(here: Checkout, how: str) -> None:
    given, execution = ASKS[how]
    files = {
        "baselines/asks.yaml": ASKING.format(id="asks", input=given, execution=execution),
        "baselines/more.txt": "a: one\n",
        "baselines/other.txt": "one\n",
    }
    here.commit(files)
    here.git("branch", "-f", "before")
    assert told(beside(here, "before")) == {}
    here.write({"baselines/other.txt": "two\n"})
    assert told(beside(here, "before")) == {}, "nobody asks with that one"
    here.write({"baselines/more.txt": "a: two\n"})
    ((id, (change, ways)),) = told(beside(here, "before")).items()
    assert (id, change) == ("asks", "loosened")
    assert len(ways) == 1
    assert ways[0].endswith(": another request is sent: baselines/more.txt changed")


def test_an_honest_refresh_is_told_and_fails_nobody(here: Checkout) -> None:
    replace(here, "baselines/a.yaml", "name: Ada", "name: Grace, more: 1")
    approval = '"2026-02-01T10:00:00Z"\n  approved_by: ada\n  reason: new names'
    replace(here, "baselines/a.yaml", '"2026-01-01T10:00:00Z"', approval)
    found = beside(here)
    (one,) = found.changes
    assert (one.change, one.approved_by, one.reason) == ("changed", "ada", "new names")
    assert found.weakened == ()
    said = report(found)
    assert said.exit_code == 5, "nothing was compared, and nothing is wrong"
    assert [*terminal_lines(weakened_blocks(found), Style())][-1].endswith("approved by ada: new names")
    assert "approved by ada: new names" in render(said)
    written = result_file.render(said)
    assert result_file.read(written, "x.json").against == found
    here.commit()
    assert told(beside(here, "pr")) == {}
    replace(here, "baselines/a.yaml", "Grace", "<<any_string>>")
    (later,) = beside(here, "pr").changes
    assert (later.change, later.approved_by) == ("loosened", None), "nobody approved that"


def test_a_sparse_checkout_that_leaves_baselines_out_is_refused(here: Checkout) -> None:
    here.commit({"baselines/far/d.yaml": RECORD.format(id="d"), "docs/far.md": "x"})
    here.git("sparse-checkout", "set", "--no-cone", "/*", "!/docs/")
    assert told(beside(here)) == {"d": ("added", ())}
    here.git("sparse-checkout", "set", "--no-cone", "/*", "!/baselines/far/")
    with pytest.raises(InvalidInput, match="this sparse checkout leaves some out"):
        beside(here)


def test_files_of_a_prompt_folder_were_no_baselines_then_either(here: Checkout) -> None:
    given = {"meta.yml": "id: sum\n", "prompt.xml": "Sum up.", "examples/a/inputs.yml": "a: 1\n"}
    files = {f"baselines/sum/{name}": text for name, text in given.items()}
    here.commit(files | {"baselines/sum/kept.yaml": RECORD.format(id="kept")})
    here.git("branch", "-f", "before")
    assert beside(here, "before").changes == beside(here, "before").notes == ()
    replace(here, "baselines/sum/kept.yaml", "Ada", "<<any>>")
    assert [(one.id, one.change) for one in beside(here, "before").changes] == [("kept", "loosened")]
