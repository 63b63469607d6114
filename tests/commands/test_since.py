"""--changed-since: which baselines a change touches."""

from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.commands.loading import load
from baselinekit.commands.since import select_touched
from baselinekit.errors import InvalidInput

RECORD = "metadata:\n  last_passed: null\n  failure_count: 0\n"


def http(id: str, more: str = "") -> str:
    current = f"input: {{endpoint: /{id}{more}}}, execution: {{type: http}}"
    return f"id: {id}\nbaseline:\n  output: {{status: 200}}\ncurrent: {{{current}}}\n{RECORD}"


def other(id: str, current: str, baseline: str = "output: x") -> str:
    return f"id: {id}\nbaseline: {{{baseline}}}\ncurrent: {{{current}}}\n{RECORD}"


def command(argv: str, more: str = "") -> str:
    return f"input: {{argv: {argv}{more}}}, execution: {{type: command}}"


def skill(name: str, asked: str = "x") -> str:
    return f"input: {asked}, execution: {{type: skill, skill_name: {name}}}"


FILES = {
    "baselinekit.yaml": (
        "base_url: http://127.0.0.1:9\n"
        "variables: {where: given}\n"
        "commands: {tool: [python, tools/tool.py], other: [python, -m, checks.run]}\n"
        "skills: {called: {python: 'reviews.one:run'}, run: {command: [sh, tools/run.sh]}}\n"
        "models: {default: {command: [cat]}, judge: {command: [cat]}}\n"
    ),
    "baselines/plain.yaml": http("plain"),
    "baselines/upload.yaml": http("upload", ", method: POST, files: {file: data/up.txt}"),
    "baselines/two.yaml": http("first") + "---\n" + http("second"),
    "baselines/data/up.txt": "1",
    "baselines/given/in.txt": "1",
    "baselines/tool.yaml": other("tool", command("[tool, '--config=data/up.txt']"), "output: {stdout: x}"),
    "baselines/module.yaml": other("module", command("[other]"), "output: {stdout: x}"),
    "baselines/large.yaml": other("large", skill("named"), "output_file: large.output.json"),
    "baselines/large.output.json": "1\n",
    "baselines/called.yaml": other("called", skill("called", "{a: {file: '{{where}}/in.txt'}}")),
    "baselines/run.yaml": other("run", skill("run")),
    "baselines/ask.yaml": other("ask", "input: {prompt: ../prompts/ask.md}, execution: {type: prompt}"),
    "prompts/ask.md": "Say x",
    "skills/named/SKILL.md": "Be short.",
    "skills/named/more/deep.md": "Very.",
    "tools/tool.py": "1",
    "tools/run.sh": "1",
    "checks/run.py": "1",
    "reviews/one.py": "1",
    "unused.txt": "1",
}


def edit(name: str, old: str, new: str) -> Callable[[Checkout], None]:
    def change(repository: Checkout) -> None:
        text = (repository.folder / name).read_text()
        assert old in text
        repository.write({name: text.replace(old, new)})

    return change


def remove(name: str) -> Callable[[Checkout], None]:
    return lambda repository: (repository.folder / name).unlink()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = Checkout(tmp_path_factory.mktemp("since") / "checkout")
    checkout.commit(FILES)
    checkout.git("tag", "then")
    return checkout


@pytest.fixture
def repository(checkout: Checkout) -> Checkout:
    """As it is committed."""
    checkout.git("reset", "-q", "--hard", "then")
    checkout.git("clean", "-qfd")
    return checkout


def chosen(repository: Checkout, rev: str = "then", folder: str = "") -> tuple[list[str], list[str]]:
    project = repository.project(folder)
    found, notes = select_touched(project, repository.asked(folder), rev, load(project, ()))
    return sorted(one.id for one in found), notes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "ids"),
    [
        (lambda repository: None, []),
        (edit("baselines/plain.yaml", "200", "201"), ["plain"]),
        (edit("baselines/two.yaml", "/second", "/third"), ["second"]),
        (edit("baselines/data/up.txt", "1", "2"), ["tool", "upload"]),
        (lambda at: (at.folder / "baselines/plain.yaml").rename(at.folder / "baselines/b.yaml"), ["plain"]),
        (edit("baselines/large.output.json", "1", "2"), ["large"]),
        (edit("skills/named/more/deep.md", "Very", "Quite"), ["large"]),
        (edit("tools/tool.py", "1", "2"), ["tool"]),
        (lambda repository: repository.write({"checks/new.py": "1"}), ["module"]),
        (edit("prompts/ask.md", "x", "y"), ["ask"]),
        (lambda repository: repository.write({"baselines/new.yaml": http("new")}), ["new"]),
    ],
)
def test_select_touched_gives_baselines_of_a_change(
    repository: Checkout, change: Callable[[Checkout], None], ids: list[str]
) -> None:
    change(repository)
    assert chosen(repository) == (ids, [])


def test_select_touched_with_another_base_url_gives_all(repository: Checkout) -> None:
    edit("baselinekit.yaml", "127.0.0.1:9", "127.0.0.1:10")(repository)
    ids, notes = chosen(repository)
    assert len(ids) == 10
    assert notes == ["baselinekit.yaml: base_url changed since then, so that all baselines are compared"]


def test_select_touched_leaves_out_changes_of_the_other_branch(repository: Checkout) -> None:
    repository.git("checkout", "-q", "-b", "work")
    edit("baselines/plain.yaml", "200", "201")(repository)
    repository.commit()
    repository.git("checkout", "-q", "main")
    edit("prompts/ask.md", "x", "y")(repository)
    repository.commit()
    repository.git("checkout", "-q", "work")
    assert chosen(repository, "main") == (["plain"], [])
    repository.git("checkout", "-q", "-B", "main", "then")


@pytest.mark.slow
def test_select_touched_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "whole")
    checkout.commit({f"service/{name}": text for name, text in FILES.items()} | {"prompts/ask.md": "x"})
    checkout.git("tag", "then")
    edit("prompts/ask.md", "x", "y")(checkout)
    assert chosen(checkout, "then", "service") == ([], [])
    edit("service/prompts/ask.md", "x", "y")(checkout)
    assert chosen(checkout, "then", "service") == (["ask"], [])


@pytest.mark.slow
@pytest.mark.parametrize("rev", ["mian", "--output=x", "main; touch x"])
def test_select_touched_refuses_an_unknown_commit(repository: Checkout, rev: str) -> None:
    with pytest.raises(InvalidInput, match="BK542"):
        chosen(repository, rev)


def test_select_touched_in_a_shallow_clone_proposes_fetch(repository: Checkout, tmp_path: Path) -> None:
    repository.commit()
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    with pytest.raises(InvalidInput, match="this clone is shallow: fetch it first"):
        chosen(Checkout(tmp_path / "shallow"), "then")
