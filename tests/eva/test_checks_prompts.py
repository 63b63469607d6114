"""doctor on prompt folders: what stops a run, what is wrong with the shape of a folder, and what may be."""

from pathlib import Path

import pytest
from evalcases import World
from promptfiles import CASE, FOLDER, META, TEMPLATE, prompt_folder
from storehelp import write

from baselinekit.commands.doctor import Findings
from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.checks import examine_all
from baselinekit.kinds.settings import Clients

CONFIG = "models: {default: {command: [m]}, judge: {command: [j]}}\n"


def examined(root: Path, *paths: str) -> Findings:
    write(root, "baselinekit.yaml", CONFIG)
    world = World(root)
    clients = Clients(world.send, world.execute, world.slept.append, models=world)
    project = open_project(Operator(cwd=str(root)))
    found = examine_all(project, paths, clients, lambda method: None)
    assert (world.calls, world.asked) == ([], [])
    return found


def shape(root: Path, meta: str = META, template: str = TEMPLATE, evals: str | None = CASE) -> list[str]:
    prompt_folder(root, evals, meta=meta, template=template)
    found = examined(root, "prompts")
    assert found.problems == ()
    return [str(problem).replace(f"{FOLDER}/", "") for problem in found.shape]


def warnings(root: Path, meta: str = META, template: str = TEMPLATE, evals: str | None = CASE) -> list[str]:
    prompt_folder(root, evals, meta=meta, template=template)
    found = examined(root, "prompts")
    assert (found.problems, found.shape) == ((), ())
    return [str(note).replace(f"{FOLDER}/", "") for note in found.notes]


@pytest.mark.parametrize(
    "paths",
    [("prompts",), (FOLDER,), ("refactor",), ("rf",), (f"{FOLDER}/eval.yml", f"{FOLDER}/meta.yml")],
)
def test_e21_a_folder_in_order(tmp_path: Path, paths: tuple[str, ...]) -> None:
    prompt_folder(tmp_path)
    found = examined(tmp_path, *paths)
    assert (found.problems, found.shape, found.notes) == ((), (), ())
    assert (found.checked, found.prompts) == (0, 1)


@pytest.mark.parametrize("key", ["id", "title", "summary", "status", "version", "created", "updated"])
def test_e21_what_a_description_has_to_say(tmp_path: Path, key: str) -> None:
    lines = META.splitlines(keepends=True)
    without = "".join(line for line in lines if not line.startswith(f"{key}:"))
    assert shape(tmp_path, without) == [f"BK756 meta.yml:1:1: the key {key!r} is missing: add it"]
    empty = "".join(f'{key}: ""\n' if line.startswith(f"{key}:") else line for line in lines)
    assert f"the key {key!r} is missing: add it" in shape(tmp_path, empty)[0]


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("id: refactor", "id: other", "1:5: the id 'other' is not the name of its folder: write 'refactor'"),
        ("status: draft", "status: drafted", "4:9: 'drafted' is not a status: did you mean 'draft'?"),
        ("status: draft", "status: 3", "4:9: 3 is not a status: one of draft, tested, ready"),
        ("[rf, tidy]", "[2x]", "13:11: '2x' is not an alias: letters, digits, `_` and `-`"),
        ("[rf, tidy]", '["a b"]', "13:11: 'a b' is not an alias"),
        ("[rf, tidy]", "[rf, rf]", "13:15: the alias 'rf' is there already: remove it"),
        ("[rf, tidy]", "[refactor]", "13:11: the alias 'refactor' is there already: remove it"),
        (
            "  - name: file",
            "  - name: other\n  - name: file",
            "17:5: the prompt does not use {{other}}, wh",
        ),
    ],
)
def test_e21_what_can_be_wrong_with_one(tmp_path: Path, was: str, now: str, said: str) -> None:
    (told,) = shape(tmp_path, META.replace(was, now))
    assert told.startswith(f"BK756 meta.yml:{said}")


def test_e21_an_alias_that_another_prompt_has_is_told_on_both(tmp_path: Path) -> None:
    other = META.replace("refactor", "explain").replace("[rf, tidy]", "[tidy, refactor]")
    prompt_folder(tmp_path, folder="more/explain", meta=other)
    prompt_folder(tmp_path)
    told = [str(problem) for problem in examined(tmp_path, "prompts", "more").shape]
    assert told == [
        "BK756 prompts/refactor/meta.yml:13:15: more/explain is called 'tidy' too: choose another alias",
        "BK756 more/explain/meta.yml:13:11: prompts/refactor is called 'tidy' too: choose another alias",
        "BK756 more/explain/meta.yml:13:17: prompts/refactor is called 'refactor' too: choose another alias",
    ]


def test_e21_without_inputs_each_name_in_the_prompt_is_undeclared(tmp_path: Path) -> None:
    told = shape(tmp_path, META.partition("inputs:")[0], evals=CASE.replace("{c", "{file: a, c"))
    assert told == [
        "BK756 prompt.xml:2:10: the prompt uses {{file}}, and its description declares no `inputs:`: declare "
        "it in meta.yml: inputs: [file]",
        "BK756 prompt.xml:3:14: the prompt uses {{constraints}}, and its description declares no `inputs:`: "
        "declare it in meta.yml: inputs: [constraints]",
    ]


def test_e21_a_folder_without_a_description_or_a_prompt(tmp_path: Path) -> None:
    write(tmp_path, f"{FOLDER}/prompt.xml", "Say hello.")
    (told,) = examined(tmp_path, "prompts").shape
    assert str(told).startswith(f"BK756 {FOLDER}/meta.yml: {FOLDER} has no description: write id, title,")
    (tmp_path / FOLDER / "prompt.xml").unlink()
    write(tmp_path, f"{FOLDER}/meta.yml", META)
    write(tmp_path, f"{FOLDER}/eval.yml", CASE)
    (problem,) = examined(tmp_path, "prompts").problems
    assert str(problem).startswith(f"BK755 {FOLDER}/prompt.xml: {FOLDER} has no prompt.xml")


@pytest.mark.parametrize(
    ("evals", "said"),
    [
        ("defaults: {model: default}\n", "neither `cases` nor `triggering` is here"),
        (
            CASE.replace("inputs: {constraints: none}", "inputs_from: nowhere"),
            "there is no nowhere/inputs.yml",
        ),
    ],
)
def test_e21_what_would_stop_a_run_is_told_as_a_run_tells_it(tmp_path: Path, evals: str, said: str) -> None:
    prompt_folder(tmp_path, evals)
    (problem,) = examined(tmp_path, "prompts").problems
    assert said in str(problem)


@pytest.mark.parametrize(
    ("meta", "template", "said"),
    [
        ("triggers: [a, '']", "", "meta.yml:9:15: an empty text in 'triggers': remove it"),
        ("not_for: [' ']", "", "meta.yml:9:11: an empty text in 'not_for': remove it"),
        (
            f"description: Use when {'x' * 1016}",
            "",
            "meta.yml:9:14: the description has 1,025 characters: at most 1,024",
        ),
        ("description: Use when <b>", "", "meta.yml:9:14: the description contains < or >"),
        ("", "word " * 5000, "prompt.xml:1:1: the prompt has 5,003 words: fewer than 5,000"),
    ],
)
def test_e22_a_shape_that_no_skill_may_have(tmp_path: Path, meta: str, template: str, said: str) -> None:
    base = "\n".join(META.split("\n")[:7]) + "\n"
    base += "" if "description" in meta else "description: Use when asked.\n"
    base += "" if "description" not in meta else "aliases: []\n"
    base += f"{meta}\n" if meta else ""
    base += "inputs: [{name: file, default: a}, constraints]\n"
    (told,) = shape(tmp_path, base, f"{{{{file}}}} {{{{constraints}}}} end {template}")
    assert told.startswith(f"BK757 {said}")


@pytest.mark.parametrize("id", ["claude-helper", "my-Anthropic"])
def test_e22_a_skill_is_not_called_as_its_maker(tmp_path: Path, id: str) -> None:
    prompt_folder(tmp_path, folder=f"prompts/{id}", meta=META.replace("id: refactor", f"id: {id}"))
    (told,) = examined(tmp_path, "prompts").shape
    assert "which no skill may be called: choose another id" in str(told)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            "Use when somebody",
            "For when somebody",
            "8:14: the description does not say when the prompt",
        ),
        ("description: Refactors", "owner: Refactors", "1:1: without a description, its summary says when"),
        ("2026-01-02", "in spring", "6:10: 'in spring' is not a date: such as 2026-03-01"),
        ("aliases:", "team: me\naliases:", "13:1: unknown key 'team': nothing reads it"),
        (
            "  - name: file",
            "  - {name: x, required: false}\n  - name: file",
            "17:5: the prompt does not use {{x",
        ),
    ],
)
def test_e22_what_may_be_a_mistake_is_a_note(tmp_path: Path, was: str, now: str, said: str) -> None:
    told = warnings(tmp_path, META.replace(was, now))
    assert [note for note in told if note.partition(" meta.yml:")[2].startswith(said)], told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("word " * 3500, "the prompt has 3,505 words, and 5,000 are too many"),
        ("line\n" * 200, "the prompt has 204 lines that are not blank: fewer than 200 are easier to follow"),
    ],
)
def test_e22_a_long_prompt_is_a_note(tmp_path: Path, more: str, said: str) -> None:
    (note,) = warnings(tmp_path, template=TEMPLATE + more)
    assert said in note


@pytest.mark.parametrize("inside", ["my file", "größe", "#if file", "file|upper", "1st"])
def test_e23_braces_around_what_is_no_name_are_a_note(tmp_path: Path, inside: str) -> None:
    others = "\\{{so on}} and {{{file}}} and {x y} and {{}}"
    (note,) = warnings(tmp_path, template=f"{TEMPLATE}Say {{{{ {inside} }}}} and {others}.")
    said = f"BK758 prompt.xml:5:5: {{{{{inside}}}}} is sent as it is: it is not the name of a variable: "
    assert note.startswith(said)


def test_e22_just_short_of_the_limits_nothing_is_said(tmp_path: Path) -> None:
    words = len(TEMPLATE.split())
    lines = len(TEMPLATE.splitlines())
    assert warnings(tmp_path, template=TEMPLATE + "word " * (3499 - words)) == []
    assert warnings(tmp_path, template=TEMPLATE + "line\n" * (199 - lines)) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("triggering: {should_match: [], should_not_match: []}", "eval.yml:5:13: `triggering` has no query"),
        ("triggering: {should_match: [a, b, a]}", "eval.yml:5:35: this query is in the list twice"),
    ],
)
def test_e10_e13_queries_that_ask_nothing_or_the_same_are_notes(tmp_path: Path, more: str, said: str) -> None:
    (note,) = warnings(tmp_path, evals=CASE + more + "\n")
    assert note.startswith(f"BK758 {said}")


OTHERS = [
    "author",
    "category",
    "created_at",
    "created_by",
    "date",
    "depends_on",
    "deprecated",
    "kind",
    "labels",
    "language",
    "license",
    "model",
    "name",
    "outputs",
    "owner",
    "related",
    "reviewed",
    "revision",
    "scope",
    "short_description",
    "state",
    "style",
    "subtitle",
    "tags",
    "tested_with",
    "tools",
    "updated_by",
    "uuid",
    "variables",
]
"""What descriptions of prompts say besides, and some of it is spelt almost as a known key is."""


@pytest.mark.parametrize("key", OTHERS)
def test_e21_a_key_of_somebody_else_stops_nothing(tmp_path: Path, key: str) -> None:
    told = warnings(tmp_path, META + f"{key}: something\n")
    assert told == [f"BK103 meta.yml:19:1: unknown key {key!r}: nothing reads it"]


@pytest.mark.parametrize("key", ["title", "status", "description", "triggers", "aliases", "inputs"])
def test_e21_a_key_that_is_misspelt_is_a_problem(tmp_path: Path, key: str) -> None:
    """Each way to leave out a letter, to write it twice, or to write two the wrong way round."""
    for at in range(len(key) - 1):
        swapped = key[:at] + key[at + 1] + key[at] + key[at + 2 :]
        for typo in {key[:at] + key[at + 1 :], key[: at + 1] + key[at:], swapped} - {key}:
            prompt_folder(tmp_path, meta=META.replace(f"{key}:", f"{typo}:"))
            found = examined(tmp_path, "prompts")
            assert any(f"unknown key {typo!r}: did you mean {key!r}?" in str(one) for one in found.problems)


def test_e21_a_prompt_without_cases_or_with_a_script_that_cannot_run_is_a_note(tmp_path: Path) -> None:
    assert "BK758 meta.yml: prompts/refactor has no eval file" in warnings(tmp_path, evals=None)[0]
    write(tmp_path, f"{FOLDER}/guard.sh", "#!/bin/sh\n")
    assert any("guard.sh: it cannot be executed" in note for note in warnings(tmp_path))
