"""Doctor on prompt folders: problems that stop a run, problems of the shape, and notes.

The golden case prompt-folder-doctor shows most of them; here are the limits and the rarer ones."""

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
    found = examine_all(open_project(Operator(cwd=str(root))), paths, clients, lambda method: None)
    assert (world.calls, world.asked) == ([], [])
    return found


def problems_and_notes(
    root: Path, meta: str = META, template: str = TEMPLATE, evals: str | None = CASE
) -> tuple[list[str], list[str]]:
    """The problems of the shape of the usual folder with these files, and its notes."""
    prompt_folder(root, evals, meta=meta, template=template)
    found = examined(root, "prompts")
    assert found.problems == ()
    shape, notes = (list(map(str, part)) for part in (found.shape, found.notes))
    return [line.replace(f"{FOLDER}/", "") for line in shape], notes


def test_e21_description_without_its_keys_or_their_values_lacks_them(tmp_path: Path) -> None:
    keys = ["id", "title", "summary", "status", "version", "created", "updated"]
    lines = META.splitlines(keepends=True)
    without = "".join(line for line in lines if line.partition(":")[0] not in keys)
    assert problems_and_notes(tmp_path, without)[0] == [
        f"BK750 meta.yml:1:1: the key {key!r} is missing: add it" for key in keys
    ]


def test_e21_description_with_wrong_values_and_undeclared_inputs_has_problems(tmp_path: Path) -> None:
    meta = META.replace("draft", "3").replace("[rf, tidy]", "[rf, rf, refactor]").partition("inputs:")[0]
    found, _ = problems_and_notes(tmp_path, meta, evals=CASE.replace("{c", "{file: a, c"))
    starts = (
        "meta.yml:4:9: 3 is not a status: write one of draft, tested, ready",
        "meta.yml:13:15: the alias 'rf' is there already: remove it",
        "meta.yml:13:19: the alias 'refactor' is there already: remove it",
        "prompt.xml:2:10: the prompt uses {{file}}, and its description declares no `inputs:`",
        "prompt.xml:3:14: the prompt uses {{constraints}}, and its description declares no `inputs:`",
    )
    assert all(line.startswith(f"BK750 {start}") for line, start in zip(found, starts, strict=True)), found


def test_e21_folder_without_a_description_or_a_prompt_has_a_problem(tmp_path: Path) -> None:
    write(tmp_path, f"{FOLDER}/prompt.xml", "Say hello.")
    (problem,) = examined(tmp_path, "prompts").shape
    assert str(problem).startswith(f"BK750 {FOLDER}/meta.yml: {FOLDER} has no description: write id, title,")
    (tmp_path / FOLDER / "prompt.xml").unlink()
    write(tmp_path, f"{FOLDER}/meta.yml", META)
    write(tmp_path, f"{FOLDER}/eval.yml", CASE)
    (problem,) = examined(tmp_path, "prompts").problems
    assert str(problem).startswith(f"BK750 {FOLDER}/prompt.xml: {FOLDER} has no prompt.xml")


def test_e22_shape_that_no_skill_may_have_is_a_problem(tmp_path: Path) -> None:
    meta = META.replace("- refactor this file", "- ''").replace("- questions about code", "- ' '")
    meta = meta.replace("Refactors code. Use", "x" * 1_000 + " Use")
    found, _ = problems_and_notes(tmp_path, meta, TEMPLATE + "word " * 5_000)
    starts = (
        "meta.yml:8:14: the description has 1,",
        "meta.yml:10:5: an empty text in 'triggers': remove it",
        "meta.yml:12:5: an empty text in 'not_for': remove it",
        "prompt.xml:1:1: the prompt has 5,005 words: fewer than 5,000",
    )
    assert all(line.startswith(f"BK772 {start}") for line, start in zip(found, starts, strict=True)), found


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("word " * 3_495, "the prompt has 3,500 words, and 5,000 are too many"),
        ("line\n" * 196, "the prompt has 200 lines that are not blank: fewer than 200 are easier to follow"),
        ("word " * 3_494, None),
        ("line\n" * 195, None),
    ],
)
def test_e22_long_prompt_is_a_note(tmp_path: Path, more: str, message: str | None) -> None:
    shape, notes = problems_and_notes(tmp_path, template=TEMPLATE + more)
    assert shape == []
    assert (message is None) == (notes == [])
    assert all(str(message) in note for note in notes)


OTHERS = """
author created_at created_by date labels name outputs revision scope short_description state style subtitle
tags updated_by uuid variables
"""
"""Keys of other tools, some of which are spelt almost as a known key."""


def test_e21_key_of_another_tool_is_accepted(tmp_path: Path) -> None:
    more = "".join(f"{key}: something\n" for key in OTHERS.split())
    assert problems_and_notes(tmp_path, META + more) == ([], [])


@pytest.mark.parametrize("key", ["title", "status", "description", "triggers", "aliases", "inputs"])
def test_e21_misspelt_key_is_a_problem(tmp_path: Path, key: str) -> None:
    """With a letter left out, a letter twice, and two letters exchanged."""
    for typo in (key[:2] + key[3:], key[:3] + key[2:], key[0] + key[2] + key[1] + key[3:]):
        prompt_folder(tmp_path, meta=META.replace(f"{key}:", f"{typo}:"))
        found = examined(tmp_path, "prompts")
        wanted = f"unknown key {typo!r}: did you mean {key!r}?"
        assert any(wanted in str(problem) for problem in found.problems)
