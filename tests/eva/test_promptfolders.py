"""Prompt folders: where they are found, their eval files, and their content."""

from pathlib import Path

import pytest
from promptfiles import CASE, FOLDER, META, prompt_folder
from storehelp import write

from baselinekit.errors import InvalidInput
from baselinekit.eva.folders import read_folder
from baselinekit.suites.loading import load_evals, load_suite
from baselinekit.suites.promptfolders import eval_files, find_folder, folders_below

CAPABILITY = "id: plain\ninput: {type: prompt, content: x}\nexpected: {value: y}\n"


def test_eval_files_of_a_prompt_folder_are_its_eval_file_only(tmp_path: Path) -> None:
    prompt_folder(tmp_path, folder="evals/refactor")
    write(tmp_path, "evals/refactor/examples/other/notes.yaml", "anything: 1\n")
    write(tmp_path, "evals/refactor/references/more.json", "[1]")
    write(tmp_path, "evals/plain.yaml", CAPABILITY)
    assert eval_files(["evals"], str(tmp_path)) == ["evals/plain.yaml", "evals/refactor/eval.yml"]
    suite = load_evals(["evals"], str(tmp_path))
    assert sorted(case.id for case in suite.cases) == ["plain", "refactor/one"]


def test_suite_with_a_prompt_folder_or_its_file_has_its_cases(tmp_path: Path) -> None:
    prompt_folder(tmp_path, folder="evals/refactor")
    for name in ("./refactor/", "./refactor/eval.yml"):
        write(tmp_path, "evals/suite.yaml", f"eval_suite: {{name: s, evals: [{{$ref: {name}}}]}}\n")
        suite = load_suite("evals/suite.yaml", str(tmp_path))
        assert [case.id for case in suite.cases] == ["refactor/one"]


@pytest.mark.parametrize("name", ["eval.yaml", "evals.yml", "tests.yaml"])
def test_eval_files_of_a_prompt_folder_by_name_or_content(tmp_path: Path, name: str) -> None:
    prompt_folder(tmp_path, None)
    write(tmp_path, f"{FOLDER}/{name}", CASE)
    assert eval_files([FOLDER], str(tmp_path)) == [f"{FOLDER}/{name}"]


def test_load_evals_of_a_prompt_folder_with_two_eval_files_is_refused(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    write(tmp_path, f"{FOLDER}/evals.yaml", CASE)
    with pytest.raises(InvalidInput, match=r"BK750.* has 2 eval files: eval\.yml, evals\.yaml"):
        load_evals(["prompts"], str(tmp_path))
    assert len(load_evals([f"{FOLDER}/evals.yaml"], str(tmp_path)).cases) == 1


def test_load_evals_of_several_prompt_folders_has_all_cases(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    meta = "id: explain\ninputs: [constraints, file]\n"
    prompt_folder(tmp_path, folder="prompts/deep/er/explain", meta=meta)
    prompt_folder(tmp_path, folder="prompts/.hidden/x")
    prompt_folder(tmp_path, folder="prompts/node_modules/x")
    suite = load_evals(["prompts/refactor", "prompts/deep"], str(tmp_path))
    assert sorted(case.id for case in suite.cases) == ["explain/one", "refactor/one"]
    (tmp_path / "prompts/again").symlink_to(tmp_path / FOLDER)  # a link is not followed
    assert folders_below(str(tmp_path), ["prompts"]) == ["prompts/deep/er/explain", "prompts/refactor"]


def test_find_folder_by_id_or_alias_refuses_two_of_a_name(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    assert [find_folder(str(tmp_path), name) for name in ("refactor", "rf", "x")] == [FOLDER, FOLDER, None]
    prompt_folder(tmp_path, folder="old/rf", meta="id: rf\n")
    with pytest.raises(InvalidInput, match=r"2 prompts are called 'rf': old/rf, prompts/refactor"):
        find_folder(str(tmp_path), "rf")


def test_read_folder_describes_its_files(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    write(tmp_path, f"{FOLDER}/guard.sh", "#!/bin/sh\n")
    files = read_folder(str(tmp_path), FOLDER)
    folder = files.folder
    assert (files.problems, folder.path, folder.id) == ([], FOLDER, "refactor")
    assert (folder.eval_file, folder.verify) == (f"{FOLDER}/eval.yml", None)
    assert folder.guard == f"{FOLDER}/guard.sh"
    (tmp_path / FOLDER / "meta.yml").unlink()
    assert find_folder(str(tmp_path), "refactor") == FOLDER  # by the name of the folder


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prompt.xml", "<p>{{file}} {{constraints}}</p>"),
        ("eval.yml", CASE.replace("inputs: {constraints: none}", "inputs_from: examples/happy-path") + "\n"),
        ("shape.json", '{"type": "array"}'),
        ("guard.sh", "#!/bin/sh\nexit 0\n"),
        ("meta.yml", META.replace("refactor this file", "tidy this file")),
    ],
)
def test_e7_content_changes_with_files_of_a_verdict(tmp_path: Path, name: str, text: str) -> None:
    evals = CASE.replace("inputs: {constraints: none}", "inputs_from: examples/happy-path")
    prompt_folder(tmp_path, evals.replace("[contains: total]", "[json_schema: shape.json]"))
    write(tmp_path, f"{FOLDER}/shape.json", '{"type": "object"}')
    before = read_folder(str(tmp_path), FOLDER).folder.content
    assert len(before) == 16
    write(tmp_path, f"{FOLDER}/{name}", text)
    assert read_folder(str(tmp_path), FOLDER).folder.content != before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("meta.yml", META.replace("draft", "tested").replace("2026-02-03", "2026-03-04")),
        (".eval.jsonl", "{}\n"),
        ("examples/other/inputs.yml", "constraints: x\n"),
    ],
)
def test_e7_content_does_not_change_with_other_files(tmp_path: Path, name: str, text: str) -> None:
    prompt_folder(tmp_path)
    before = read_folder(str(tmp_path), FOLDER).folder.content
    write(tmp_path, f"{FOLDER}/{name}", text)
    assert read_folder(str(tmp_path), FOLDER).folder.content == before
