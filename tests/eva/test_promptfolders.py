"""Which folder is a prompt's, where it is found, which of its files are eval files, and its content."""

from pathlib import Path

import pytest
from promptfiles import CASE, FOLDER, META, prompt_folder
from storehelp import write

from baselinekit.errors import InvalidInput
from baselinekit.eva.folders import read_folder
from baselinekit.suites.loading import load_evals, load_suite
from baselinekit.suites.promptfolders import eval_files, find_folder, folders_below

CAPABILITY = "id: plain\ninput: {type: prompt, content: x}\nexpected: {value: y}\n"


def test_of_a_prompt_folder_only_its_eval_file_is_one(tmp_path: Path) -> None:
    prompt_folder(tmp_path, folder="evals/refactor")
    write(tmp_path, "evals/refactor/examples/other/notes.yaml", "anything: 1\n")
    write(tmp_path, "evals/refactor/references/more.json", "[1]")
    write(tmp_path, "evals/plain.yaml", CAPABILITY)
    assert eval_files(["evals"], str(tmp_path)) == ["evals/plain.yaml", "evals/refactor/eval.yml"]
    suite = load_evals(["evals"], str(tmp_path))
    assert sorted(case.id for case in suite.cases) == ["plain", "refactor/one"]


def test_a_suite_may_refer_to_the_folder_or_to_the_file(tmp_path: Path) -> None:
    prompt_folder(tmp_path, folder="evals/refactor")
    for name in ("./refactor/", "./refactor/eval.yml"):
        write(tmp_path, "evals/suite.yaml", f"eval_suite: {{name: s, evals: [{{$ref: {name}}}]}}\n")
        suite = load_suite("evals/suite.yaml", str(tmp_path))
        assert [case.id for case in suite.cases] == ["refactor/one"]


@pytest.mark.parametrize("name", ["eval.yml", "eval.yaml", "evals.yml", "evals.yaml", "tests.yaml"])
def test_the_eval_file_is_known_by_its_name_or_by_what_it_has(tmp_path: Path, name: str) -> None:
    prompt_folder(tmp_path, None)
    write(tmp_path, f"{FOLDER}/{name}", CASE)
    assert eval_files([FOLDER], str(tmp_path)) == [f"{FOLDER}/{name}"]


def test_of_two_eval_files_one_has_to_be_named(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    write(tmp_path, f"{FOLDER}/evals.yaml", CASE)
    with pytest.raises(InvalidInput, match=r"BK755.* has 2 eval files: eval\.yml, evals\.yaml"):
        load_evals(["prompts"], str(tmp_path))
    assert len(load_evals([f"{FOLDER}/evals.yaml"], str(tmp_path)).cases) == 1


def test_a_folder_of_prompts_runs_them_all(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    prompt_folder(
        tmp_path, folder="prompts/deep/er/explain", meta="id: explain\ninputs: [constraints, file]\n"
    )
    prompt_folder(tmp_path, folder="prompts/.hidden/x")
    prompt_folder(tmp_path, folder="prompts/node_modules/x")
    suite = load_evals(["prompts/refactor", "prompts/deep"], str(tmp_path))
    assert sorted(case.id for case in suite.cases) == ["explain/one", "refactor/one"]
    assert folders_below(str(tmp_path), ["prompts"]) == ["prompts/deep/er/explain", "prompts/refactor"]


def test_the_search_is_bounded(tmp_path: Path) -> None:
    for number in range(20):
        write(tmp_path, f"many/{number}/x.txt", "")
    with pytest.raises(InvalidInput, match="BK755 more than 10 folders to look for prompts in"):
        folders_below(str(tmp_path), [""], most=10)


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    (tmp_path / "prompts/again").symlink_to(tmp_path / FOLDER)
    assert folders_below(str(tmp_path), [""]) == [FOLDER]


@pytest.mark.parametrize(("name", "found"), [("refactor", FOLDER), ("rf", FOLDER), ("other", None)])
def test_a_prompt_is_found_by_its_id_or_an_alias(tmp_path: Path, name: str, found: str | None) -> None:
    prompt_folder(tmp_path)
    assert find_folder(str(tmp_path), name) == found


def test_without_a_description_a_prompt_is_called_as_its_folder(tmp_path: Path) -> None:
    prompt_folder(tmp_path, meta=None)
    assert find_folder(str(tmp_path), "refactor") == FOLDER
    (case,) = load_evals([FOLDER], str(tmp_path)).cases
    assert case.id == "refactor/one"


def test_an_id_goes_before_an_alias_and_two_of_a_name_are_told(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    prompt_folder(tmp_path, folder="prompts/rf", meta="id: rf\n")
    assert find_folder(str(tmp_path), "rf") == "prompts/rf"
    prompt_folder(tmp_path, folder="old/rf", meta="id: rf\n")
    with pytest.raises(InvalidInput, match=r"2 prompts are called 'rf': old/rf, prompts/rf"):
        find_folder(str(tmp_path), "rf")


def test_a_folder_is_described(tmp_path: Path) -> None:
    path = prompt_folder(tmp_path)
    write(tmp_path, f"{FOLDER}/guard.sh", "#!/bin/sh\n")
    folder, problems = read_folder(str(tmp_path), FOLDER)
    assert problems == []
    assert (folder.id, folder.meta.status, folder.meta.version) == ("refactor", "draft", "1.0.0")
    assert (folder.path, folder.eval_file, folder.guard, folder.verify) == (
        FOLDER,
        f"{FOLDER}/eval.yml",
        f"{FOLDER}/guard.sh",
        None,
    )
    assert folder.meta.inputs["constraints"].required is False
    assert folder.meta.inputs["file"].default == "src/foo.py"
    assert path.name == "refactor"


def content(root: Path) -> str:
    return read_folder(str(root), FOLDER)[0].content


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prompt.xml", "<p>{{file}} {{constraints}}</p>"),
        ("eval.yml", CASE.replace("inputs: {constraints: none}", "inputs_from: examples/happy-path") + "\n"),
        ("examples/happy-path/inputs.yml", "constraints: others\n"),
        ("shape.json", '{"type": "array"}'),
        ("guard.sh", "#!/bin/sh\nexit 0\n"),
        ("verify.sh", "#!/bin/sh\nexit 0\n"),
        ("meta.yml", META.replace("refactor this file", "tidy this file")),
    ],
)
def test_e7_the_content_changes_with_all_that_a_verdict_hangs_on(
    tmp_path: Path, name: str, text: str
) -> None:
    evals = CASE.replace("inputs: {constraints: none}", "inputs_from: examples/happy-path")
    prompt_folder(tmp_path, evals.replace("[contains: total]", "[json_schema: shape.json]"))
    write(tmp_path, f"{FOLDER}/shape.json", '{"type": "object"}')
    before = content(tmp_path)
    assert len(before) == 16
    write(tmp_path, f"{FOLDER}/{name}", text)
    assert content(tmp_path) != before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("meta.yml", META.replace("draft", "tested").replace("2026-02-03", "2026-03-04")),
        ("meta.yml", "# a comment\n" + META),
        ("notes.md", "more"),
        (".eval.jsonl", "{}\n"),
        ("examples/other/inputs.yml", "constraints: x\n"),
    ],
)
def test_e7_and_with_nothing_else(tmp_path: Path, name: str, text: str) -> None:
    prompt_folder(tmp_path)
    before = content(tmp_path)
    write(tmp_path, f"{FOLDER}/{name}", text)
    assert content(tmp_path) == before
