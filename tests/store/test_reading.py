"""Baseline files in all their forms: read, refused with every error at once, found, and located."""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES, write, write_baseline

from baselinekit.errors import InvalidInput, Place, Refused
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.baselines import Options, Tolerance
from baselinekit.model.recipes import HttpRequest
from baselinekit.store.reading import discover_files, load, locate, locate_all

CURRENT = "current: {input: {endpoint: /x}, execution: {type: http}}"


def discover(paths: list[str], root: str) -> list[str]:
    return [*discover_files(paths, root).files]


def test_load_reads_the_reference_examples() -> None:
    files = ["regression-api-users.yaml", "regression-quality.yaml", "users-endpoint.json"]
    users, quality, endpoint = load(files, str(EXAMPLES))
    headers = {"Authorization": "Bearer {{test_token}}"}
    assert users.current.input == HttpRequest(method="GET", endpoint="/api/v1/users", headers=headers)
    assert users.baseline is not None
    assert users.baseline.output["body"]["users"][0]["email"] == "{{any_email}}"
    assert users.comparison.tolerance == {"allow_additional_fields": True, "allow_field_reordering": True}
    assert users.metadata.last_passed == "2024-01-20T14:00:00Z"
    assert isinstance(quality.current.execution, SkillExecution)
    assert quality.comparison.tolerance == {"quality_scores": Tolerance(min_delta=-0.3)}
    assert (endpoint.id, endpoint.baseline_version) == ("reg-api-users-001", "v2.3.1")
    assert endpoint.comparison.options == Options(allow_additional_fields=True)
    assert endpoint.comparison.require_keys == ["data", "meta.page", "meta.per_page"]
    assert [baseline.source.form for baseline in (users, endpoint)] == ["native", "response"]


def test_load_reads_every_form_of_a_file(tmp_path: Path) -> None:
    first = f"id: ID\n{CURRENT}\n"
    write(tmp_path, "one.yaml", "\ufeff" + first.replace("ID", "a").replace("\n", "\r\n"))
    write(tmp_path, "list.yml", f"- {{id: b, {CURRENT}}}\n- {{id: c, {CURRENT}}}\n")
    write(tmp_path, "several.yaml", f"---\n{first.replace('ID', 'd')}---\n---\n- {{id: e, {CURRENT}}}\n")
    write(
        tmp_path,
        "wrapped.yaml",
        f"regression_eval:\n  id: f\n  {CURRENT}\n---\nregression_eval: [{{id: g, {CURRENT}}}]\n",
    )
    current = {"input": {"url": "http://x"}, "execution": {"type": "http"}}
    write(tmp_path, "g.json", json.dumps({"id": "h", "current": current}))
    files = ["one.yaml", "list.yml", "several.yaml", "wrapped.yaml", "g.json"]
    baselines = load(files, str(tmp_path))
    assert [b.id for b in baselines] == list("abcdefgh")
    assert all(b.baseline is None for b in baselines)
    ats = [(), (0,), (1,), (), (0,), ("regression_eval",), ("regression_eval", 0), ()]
    assert [b.source.at for b in baselines] == ats
    assert [b.source.document for b in baselines] == [0, 0, 0, 0, 2, 0, 1, 0]
    assert [locate(b.source, ("id",), str(tmp_path)).line for b in baselines] == [1, 1, 2, 2, 6, 2, 5, 1]
    assert baselines[6].id == "g"


def test_locate_gives_lines_and_columns_in_both_forms() -> None:
    users, endpoint = load(["regression-api-users.yaml", "users-endpoint.json"], str(EXAMPLES))
    paths: list[tuple[Any, ...]] = [
        ("baseline", "output", "body", "users", 0, "email"),
        ("comparison", "ignore_fields", 1),
        ("baseline", "output", "body", "users", 0, "nothing"),
        (),
    ]
    places = locate_all(users.source, paths, str(EXAMPLES))
    assert [(place.line, place.column) for place in places] == [(14, 20), (42, 9), (12, 13), (2, 3)]
    paths = [("baseline", "output", "body", "meta", "page"), ("comparison", "ignore_values", 1), ("id",)]
    places = locate_all(endpoint.source, paths, str(EXAMPLES))
    assert [(place.line, place.column) for place in places] == [(23, 19), (40, 37), (5, 11)]
    assert locate(users.source, (), str(EXAMPLES / "gone")) == Place("regression-api-users.yaml")


def test_load_reads_output_files(tmp_path: Path) -> None:
    for name in ("a.output.json", "b.output.txt", "c.output.bin"):
        write(tmp_path, f"b/{name[0]}.yaml", f"id: {name[0]}\n{CURRENT}\nbaseline: {{output_file: {name}}}\n")
    write(tmp_path, "b/a.output.json", '{"x": [1,\n {"y": 1e400}]}')
    write(tmp_path, "b/b.output.txt", b"\xef\xbb\xbfone\r\ntwo\n")
    write(tmp_path, "b/c.output.bin", b"\x00\xff")
    files = discover(["b"], str(tmp_path))
    assert files == ["b/a.yaml", "b/b.yaml", "b/c.yaml"]
    first, two, three = load(files, str(tmp_path))
    assert first.baseline is not None
    assert first.baseline.output == {"x": [1, {"y": Decimal("1e400")}]}
    assert two.baseline is not None
    assert two.baseline.output == "\ufeffone\r\ntwo\n"
    assert three.baseline is not None
    assert three.baseline.output == {
        "sha256": "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8",
        "size": 2,
    }
    inside = ("baseline", "output", "x", 1, "y")
    assert locate_all(first.source, [inside, ("id",)], str(tmp_path)) == [
        Place("b/a.output.json", 2, 8),
        Place("b/a.yaml", 1, 5),
    ]
    assert locate(two.source, ("baseline", "output"), str(tmp_path)) == Place("b/b.output.txt", 1, 1)
    write(tmp_path, "b/a.output.json", '{"x": 1, "x": 2}')
    write(tmp_path, "b/b.output.txt", b"\xff")
    with pytest.raises(InvalidInput, match=r"BK102 b/a.output.json:1:10(.|\n)*BK101 .*not UTF-8 text"):
        load(files, str(tmp_path))


WRONG = [
    ("", "BK110 f.yaml:1:1: not a baseline: the file is empty"),
    ("id: ../../etc\nCURRENT", "BK108 f.yaml:1:5: '../../etc' is not a valid id"),
    ("id: a\ncurrent: {input: {}}", "BK104 f.yaml:2:10: the key 'execution' is missing"),
    ("HTTP{steps: [{endpont: /x}]}", "BK103 f.yaml:2:28: .* did you mean 'endpoint'"),
    ("HTTP{endpoint: x}", "BK108 f.yaml:2:29: `endpoint` must start with `/`: such as /users"),
    ("HTTP{endpoint: /x, url: 'http://x'}", "`endpoint` and `url` cannot be combined"),
    ("HTTP{method: GET}", "BK104 .* the request names no target"),
    ("HTTP{url: 'ftp://x'}", "BK108 .* not an absolute http or https address"),
    ("HTTP{url: 'http://u:p@x/'}", "the address contains credentials: remove them, and use `auth`"),
    ("HTTP{endpoint: /x, method: 'G ET'}", "'G ET' is not an HTTP method"),
    ('HTTP{endpoint: /x, headers: {a: "b\\nc"}}', "a line break or control character in the header a"),
    ("HTTP{endpoint: /x, json: 1, body: x}", "`json` and `body` cannot be combined"),
    ("HTTP{steps: []}", "BK105 .* found an empty list"),
    ("HTTP{steps: [{name: a, endpoint: /x}, {name: a, endpoint: /z}]}", "two steps are called 'a': 1 and 2"),
    ("id: a\ncurrent: {input: {argv: []}, execution: {type: command}}", "BK105 .* found an empty list"),
    ("MORE\nbaseline: {captured_at: x}", "BK104 .*`baseline` has no output(.|\n)*BK108 .* not an ISO 8601"),
    ("MORE\nbaseline: {output: 1, output_file: x}", "both `output` and `output_file`"),
    ("MORE\nmetadata: {last_passed: 2024-13-01}", "'2024-13-01' is not an ISO 8601 time"),
    ("MORE\ncomparison: {require_keys: [a], options: {require_keys: [b]}}", "given here and under `options`"),
    ("capability_eval: {id: a}", "BK110 f.yaml:1:1: not a baseline: this looks like an eval file"),
    ("- evalcases: []", "BK110 f.yaml:1:3: .* an eval file"),
    ("regression_eval: {id: a, CURRENT}\nid: b", "BK103 f.yaml:2:1: unknown key 'id' beside regression_eval"),
]
"""What golden cases do not hold."""


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_load_reports_each_mistake_at_its_place(text: str, message: str, tmp_path: Path) -> None:
    if text.startswith("HTTP"):
        text = f"id: a\ncurrent: {{input: {text[4:]}, execution: {{type: http}}}}"
    text = text.replace("MORE", f"id: a\n{CURRENT}").replace("CURRENT", CURRENT)
    write(tmp_path, "f.yaml", text)
    with pytest.raises(InvalidInput, match=message):
        load(["f.yaml"], str(tmp_path))


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "link.txt", ".git/config"])
def test_load_refuses_an_output_file_outside_the_project(name: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(tmp_path, "secret.txt", "s3cret")
    write(root, ".git/config", "x")
    (root / "link.txt").symlink_to("../secret.txt")
    write(root, "f.yaml", f"id: a\n{CURRENT}\nbaseline: {{output_file: {name}}}\n")
    with pytest.raises(Refused, match=r"BK404") as caught:
        load(["f.yaml"], str(root))
    assert "s3cret" not in str(caught.value)


def test_discover_files_finds_baselines_and_follows_no_loops(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ["2.yaml", "1.yml", "x/3.json", ".hide/4.yaml", "5.output.json", "6.txt", "baselinekit.yaml"]:
        write_baseline(root, f"b/{name}")
    write_baseline(tmp_path, "outside.yaml")
    (root / "b/out.yaml").symlink_to(tmp_path / "outside.yaml")
    (root / "b/in.yaml").symlink_to("x/3.json")
    (root / "b/loop").symlink_to(".")
    folder = str(root)
    assert discover(["b"], folder) == ["b/1.yml", "b/2.yaml", "b/in.yaml", "b/out.yaml", "b/x/3.json"]
    assert discover(["b/x", "b/2.yaml", "b/x/3.json"], folder) == ["b/x/3.json", "b/2.yaml"]
    assert discover([str(root / "b/x")], folder) == ["b/x/3.json"]
    assert discover(["../outside.yaml"], folder) == [str(tmp_path / "outside.yaml")]
    assert load(discover(["../outside.yaml"], folder), folder)[0].id == "b"
    with pytest.raises(
        InvalidInput, match=r"there is no file or folder b/3\.yaml: did you mean '2.yaml'(.|\n)*BK110 b/6.txt"
    ):
        discover(["b/3.yaml", "b/6.txt"], folder)
    with pytest.raises(Refused, match=r"BK404"):
        load(["b/out.yaml"], folder)


def test_load_refuses_files_that_are_not_regular(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    write(tmp_path, "big.yaml", b"#" * 20_000_001)
    write(tmp_path, "latin.yaml", "id: é\n".encode("latin-1"))
    with pytest.raises(InvalidInput) as caught:
        load(["fifo.yaml", "folder.yaml", "big.yaml", "latin.yaml"], str(tmp_path))
    assert [str(problem) for problem in caught.value.problems] == [
        "BK111 fifo.yaml: cannot be read: it is not a regular file: name a file",
        "BK111 folder.yaml: cannot be read: is a directory: check its name, and whether you may read it",
        "BK106 big.yaml: larger than 20,000,000 bytes: split it, or keep the output in a file beside it",
        "BK101 latin.yaml:1:5: byte 0xe9 is not UTF-8 text: save the file as UTF-8",
    ]
    with pytest.raises(Refused, match=r"BK404"):
        load(["zero.yaml"], str(tmp_path))
