"""What of a folder with a prompt is read as baselines: what looks like one, and nothing else."""

from pathlib import Path

import pytest

from baselinekit.store.reading import discover_files, records_by_id

FOLDER = {"prompt.xml": "Sum up.", "meta.yml": "id: sum\n", "eval.yml": "cases: []\n"}
RECORD = "id: a\ncurrent: {input: x}\n"
NONE: dict[str, str] = {
    "meta.yaml": "id: sum\ncurrent: x\n",
    "examples/a/inputs.yml": RECORD,
    "data.json": '{"current": {"sky": "clear"}}',
    "broken.yaml": "id: {{not yaml\n",
    "schema.json": '{"type": "object", "properties": {"id": {}, "current": {}}}',
}
SOME: dict[str, str] = {
    "a.yaml": RECORD,
    "several.yaml": f"{RECORD}---\nid: b\ncomparison: {{}}\n",
    "list.json": '[{"id": "a", "current": {}}]',
    "misspelt.yaml": "id: a\ncurent: {}\nbaseline: {}\n",
    "broken.yaml": "id: a\ncurrent: {{\n",
}


def below(tmp_path: Path, files: dict[str, str], path: str, with_prompts: bool = False) -> list[str]:
    for name, text in files.items():
        file = tmp_path / "prompts/sum" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [*discover_files([path], str(tmp_path), with_prompts=with_prompts).files]


@pytest.mark.parametrize("name", NONE)
def test_discover_files_leaves_out_files_of_a_prompt(tmp_path: Path, name: str) -> None:
    files = FOLDER | {name: NONE[name]}
    assert below(tmp_path, files, "") == below(tmp_path, files, "prompts/sum") == []
    assert f"prompts/sum/{name}" in below(tmp_path, files, "", with_prompts=True)
    assert below(tmp_path, files, f"prompts/sum/{name}") == [f"prompts/sum/{name}"], "a named file is read"


@pytest.mark.parametrize("name", SOME)
def test_discover_files_finds_baselines_below_a_prompt(tmp_path: Path, name: str) -> None:
    files = FOLDER | {name: SOME[name]}
    assert below(tmp_path, files, "") == below(tmp_path, files, "prompts") == [f"prompts/sum/{name}"]


@pytest.mark.parametrize("left", [("prompt.xml",), ("prompt.xml", "meta.yml"), ("prompt.xml", "eval.yml")])
def test_discover_files_knows_a_prompt_folder_by_its_files(tmp_path: Path, left: tuple[str, ...]) -> None:
    files = {name: text for name, text in FOLDER.items() if name not in left} | {"text.yaml": "words\n"}
    is_prompt = left == ("prompt.xml",)
    assert ("prompts/sum/text.yaml" in below(tmp_path, files, "")) is not is_prompt


def test_records_by_id_leaves_out_prompts(tmp_path: Path) -> None:
    below(tmp_path, FOLDER | {"kept.yaml": RECORD}, "")
    assert records_by_id(str(tmp_path), ["prompts"]).keys() == {"a"}
