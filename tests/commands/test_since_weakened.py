"""--base: what a change does to the baselines; --config-from: whose configuration counts."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.commands.since import find_weakened
from baselinekit.errors import InvalidInput
from baselinekit.model.results import BaselineChanges, Report
from baselinekit.report import resultfile as result_file
from baselinekit.report.blocks import terminal_lines
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
def repository(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path / "checkout")
    checkout.commit(FILES)
    checkout.git("checkout", "-q", "-b", "pr")
    return checkout


def beside(repository: Checkout, ref: str = "main", strict: bool = True) -> BaselineChanges:
    return find_weakened(repository.project(), repository.asked(), ref, strict)


def changes_of(found: BaselineChanges) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {item.id: (item.change, item.how) for item in found.changes}


def replace(repository: Checkout, name: str, old: str, new: str) -> None:
    text = (repository.folder / name).read_text()
    assert old in text
    repository.write({name: text.replace(old, new)})


def report(found: BaselineChanges) -> Report:
    return Report("compare-1", "2026-01-01T10:00:00Z", 0.1, "baselinekit", "compare", (), against=found)


def test_f57_find_weakened_lists_added_removed_and_loosened(repository: Checkout) -> None:
    assert changes_of(beside(repository)) == {}
    replace(repository, "baselines/a.yaml", "name: Ada", "name: <<any>>")
    replace(repository, "baselines/large.output.json", ", 2", ", 3")
    replace(repository, "baselines/large.yaml", "failure_count: 0", "failure_count: 3")
    (repository.folder / "baselines/b.yaml").unlink()
    repository.write({"baselines/c.yaml": RECORD.format(id="c")})
    repository.commit()
    found = beside(repository)
    where = 'baseline.output.body.name: a value became a placeholder: "Ada" -> "<<any>>"'
    assert changes_of(found) == {
        "a": ("loosened", (where,)),
        "b": ("removed", ()),
        "c": ("added", ()),
        "large": ("changed", ("baseline.output.body[1]: another expectation: 2 -> 3",)),
    }
    assert [(item.file, item.line) for item in found.changes] == [
        ("baselines/a.yaml", 3),
        ("baselines/b.yaml", None),
        ("baselines/c.yaml", 1),
        ("baselines/large.output.json", 1),
    ]
    assert report(found).exit_code == 1
    assert report(beside(repository, strict=False)).exit_code == 5


def test_f57_find_weakened_reports_a_looser_configuration(repository: Checkout) -> None:
    replace(repository, "baselinekit.yaml", "O-\\d", ".*")
    replace(repository, "baselinekit.yaml", "base_url", "baselines: [elsewhere]\nbase_url")
    found = changes_of(beside(repository))
    assert found["baselinekit.yaml"] == (
        "loosened",
        ("baselines is now a different one", "placeholders is now a different one: order"),
    )
    assert {id for id, (change, _) in found.items() if change == "removed"} == {"a", "b", "large"}


def test_find_weakened_notes_a_file_that_was_unreadable(repository: Checkout) -> None:
    repository.commit({"baselines/b.yaml": "id: [\n"})
    repository.git("tag", "broken")
    repository.commit({"baselines/b.yaml": RECORD.format(id="b")})
    found = beside(repository, "broken")
    assert changes_of(found) == {"b": ("added", ())}
    assert found.notes == (
        "baselines/b.yaml could not be read as it was at broken: what it held counts as added",
    )


def test_find_weakened_follows_no_links_of_the_commit(repository: Checkout) -> None:
    (repository.folder / "baselines/link.yaml").symlink_to("../../outside.yaml")
    (repository.folder / "baselines/again.yaml").symlink_to("a.yaml")
    repository.commit()
    repository.git("tag", "linked")
    (repository.folder / "baselines/link.yaml").unlink()
    (repository.folder / "baselines/again.yaml").unlink()
    found = beside(repository, "linked")
    assert (changes_of(found), found.notes) == ({}, ())


def test_config_from_reads_the_configuration_of_the_commit(repository: Checkout) -> None:
    repository.commit({"baselinekit.yaml": "base_url: http://evil.example\ncommands: {sh: [sh]}\n"})
    repository.commit({"baselines/baselinekit.yaml": "base_url: http://evil.example\n"})
    project = repository.project(config_from="main")
    assert project.base_url == "http://127.0.0.1:9"
    assert project.commands == {}
    below = repository.project("baselines", config_from="main")  # the nearer one came with the pull request
    assert (below.base_url, below.root) == ("http://127.0.0.1:9", str(repository.folder))
    (repository.folder / "baselinekit.yaml").unlink()
    assert repository.project(config_from="main").base_url == "http://127.0.0.1:9"
    assert repository.project(config_from="main", config="baselinekit.yaml").base_url == "http://127.0.0.1:9"


def test_config_from_a_commit_without_configuration(repository: Checkout) -> None:
    repository.git("rm", "-q", "baselinekit.yaml")
    repository.commit()
    repository.git("tag", "none")
    repository.commit({"baselinekit.yaml": "base_url: http://evil.example\n"})
    assert repository.project(config_from="none").base_url is None
    with pytest.raises(InvalidInput, match=r"BK111 other.yaml: does not exist at"):
        repository.project(config_from="none", config="other.yaml")


ASKS = [
    ("steps: [{endpoint: /a}, {endpoint: /u, files: {f: more.txt}}]", "type: http"),
    ("prompt: more.txt", "type: prompt"),
    ("text: '{{a}}', inputs: {a: {file: more.txt}}", "type: prompt"),
    ("text: '{{a}}', inputs_from: more.txt", "type: prompt"),
    ("code: more.txt", "type: skill, skill_name: s"),
    ("method: POST, endpoint: /u, body: {file: more.txt}", "type: http"),
    ("text: x", "type: prompt, scores: {rubric: more.txt}"),
    ("argv: [says, --in=more.txt], cwd: .", "type: command"),
]
ASKING = """\
id: {id}
baseline: {{output: {{status: 200}}}}
current:
  input: {{{input}}}
  execution: {{{execution}}}
"""


def test_find_weakened_reports_a_changed_file_of_a_request(repository: Checkout) -> None:
    files = {"baselines/other.txt": "one\n"}
    for n, (given, execution) in enumerate(ASKS):
        text = ASKING.format(id=f"asks{n}", input=given.replace("more", f"more{n}"), execution=execution)
        files[f"baselines/asks{n}.yaml"] = text.replace("more.txt", f"more{n}.txt")
        files[f"baselines/more{n}.txt"] = "a: one\n"
    repository.commit(files)
    repository.git("branch", "-f", "before")
    repository.write({"baselines/other.txt": "two\n"})
    assert changes_of(beside(repository, "before")) == {}
    repository.write({f"baselines/more{n}.txt": "a: two\n" for n in range(len(ASKS))})
    found = changes_of(beside(repository, "before"))
    assert sorted(found) == [f"asks{n}" for n in range(len(ASKS))]
    for id, (change, (way,)) in found.items():
        assert change == "loosened"
        assert way.endswith(f": another request is sent: baselines/more{id[4:]}.txt changed")


def test_find_weakened_of_a_refresh_shows_its_approval(repository: Checkout) -> None:
    replace(repository, "baselines/a.yaml", "name: Ada", "name: Grace, more: 1")
    approval = '"2026-02-01T10:00:00Z"\n  approved_by: ada\n  reason: new names'
    replace(repository, "baselines/a.yaml", '"2026-01-01T10:00:00Z"', approval)
    found = beside(repository)
    (item,) = found.changes
    assert (item.change, item.approved_by, item.reason) == ("changed", "ada", "new names")
    assert found.weakened == ()
    assert report(found).exit_code == 5, "nothing was compared, and nothing is wrong"
    assert [*terminal_lines(weakened_blocks(found), Style())][-1].endswith("approved by ada: new names")
    assert result_file.read(result_file.render(report(found)), "x.json").against == found
    repository.commit()
    assert changes_of(beside(repository, "pr")) == {}
    replace(repository, "baselines/a.yaml", "Grace", "<<any_string>>")
    (later,) = beside(repository, "pr").changes
    assert (later.change, later.approved_by) == ("loosened", None), "nobody approved that"


def test_find_weakened_refuses_a_sparse_checkout(repository: Checkout) -> None:
    repository.commit({"baselines/far/d.yaml": RECORD.format(id="d"), "docs/far.md": "x"})
    repository.git("sparse-checkout", "set", "--no-cone", "/*", "!/docs/")
    assert changes_of(beside(repository)) == {"d": ("added", ())}
    repository.git("sparse-checkout", "set", "--no-cone", "/*", "!/baselines/far/")
    with pytest.raises(InvalidInput, match="this sparse checkout leaves some out"):
        beside(repository)


def test_find_weakened_leaves_out_files_of_a_prompt_folder(repository: Checkout) -> None:
    given = {"meta.yml": "id: sum\n", "prompt.xml": "Sum up.", "examples/a/inputs.yml": "a: 1\n"}
    files = {f"baselines/sum/{name}": text for name, text in given.items()}
    repository.commit(files | {"baselines/sum/kept.yaml": RECORD.format(id="kept")})
    repository.git("branch", "-f", "before")
    assert beside(repository, "before").changes == beside(repository, "before").notes == ()
    replace(repository, "baselines/sum/kept.yaml", "Ada", "<<any>>")
    assert [(item.id, item.change) for item in beside(repository, "before").changes] == [("kept", "loosened")]
