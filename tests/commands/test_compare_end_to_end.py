"""compare from end to end: the reference's example, what -v shows, random ids, and the clock of tests."""

import json
import shutil
from typing import Any

import pytest
from commandline import run
from console import ROOT, Console
from little_api import LittleApi

SKILL = """\
import json, pathlib, sys
given = json.load(sys.stdin)
assert given["skill"] == "code-review" and given["parameters"] == {"depth": "thorough"}, given
assert given["input"]["code_diff"] == "path/to/test-diff.patch", given
print(pathlib.Path(__file__).with_name("answer.json").read_text())
"""


@pytest.mark.slow
def test_compare_of_the_reference_example_fails_where_a_score_falls_too_far(project: Console) -> None:
    file = project.folder / "baselines/quality.yaml"
    shutil.copy(ROOT / "tests/reference/regression-quality.yaml", file)
    (project.folder / "skill.py").write_text(SKILL)
    (project.folder / "baselinekit.yaml").write_text("skills: {code-review: {command: [python, skill.py]}}\n")
    cases: list[tuple[Any, int, int]] = [(3.9, 0, 1), (3.89, 1, 2), ("4.2", 1, 3)]
    for specificity, exit_code, failure_count in cases:
        scores = {"specificity": specificity, "actionability": 4.5, "correctness": 4.8, "tone": 4.3}
        (project.folder / "answer.json").write_text(json.dumps({"quality_scores": scores}))
        run(project, "compare", exit_code)
        assert f"failure_count: {failure_count}" in file.read_text()


def test_compare_verbose_shows_request_and_answer_masked_and_cut(project: Console) -> None:
    with LittleApi({"/x": {"text": "y" * 5_000}}) as api:
        (project.folder / "baselines/x.yaml").write_text(
            "id: x\nbaseline: {output: {body: {text: x}}}\n"
            "current: {input: {endpoint: /x, headers: {X-Api-Key: abcd, X-A: b}}, execution: {type: http}}\n"
        )
        run(project, f"compare -v -o found.json --base-url {api.url}", 1)
        found = json.loads((project.folder / "found.json").read_text())
    request, status, *lines = found["results"][0]["explanation"]
    assert request == f"curl {api.url}/x -H 'Accept: */*' -H 'X-Api-Key: ***' -H 'X-A: b'"
    assert status == "200"
    (text,) = (line for line in lines if "text" in line and "yyy" in line)
    whole = len('  "text": ""') + 5_000
    assert text[300:] == f" … and {whole - 300:,} more characters"


TAGS = "44-tp3E1UXTZ2V1aJaeGnzoTeDK7Cs", "66-Sl4puUlzZXgQNjCN/Ahsw07e5Os"
IDS = "q7ZxP0vT4mKs9LwB2nRd8YcF", "w3NkT8bQ5xLs1HvR6dJm9YpG"


@pytest.mark.slow
def test_compare_shows_random_ids_that_differ(project: Console) -> None:
    """What looks random and is no secret in its place is not masked."""
    answers = [{"id": id, "etag": f'W/"{tag}"'} for id, tag in zip(IDS, TAGS, strict=True)]
    with LittleApi({"/x": answers[0]}) as api:
        run(project, f"capture {api.url}/x --id x --group g")
        api.answers["/x"] = answers[1]
        run(project, "compare -v -q -o r.json", 1)
        written = (project.folder / "r.json").read_text()
        commands = ("compare -v", "refresh x --dry-run", "review --json", "report r.json")
        shown = [project.run(f"baselinekit {words}").stdout for words in commands]
    for text in (written, *shown):
        assert [word for word in (*IDS, *TAGS) if word not in text] == []
        assert "random" not in text
