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
from baselinekit.store.reading import discover_files, load, locate, locate_all, parse_record

CURRENT = "current: {input: {endpoint: /x}, execution: {type: http}}"


def discover(paths: list[str], root: str) -> list[str]:
    return [*discover_files(paths, root).files]


def test_the_reference_examples_are_read_as_they_are_written() -> None:
    files = ["regression-api-users.yaml", "regression-quality.yaml", "users-endpoint.json"]
    users, quality, endpoint = load(files, str(EXAMPLES))
    assert users.id == "reg-api-001"
    assert users.current.input == HttpRequest(
        method="GET", endpoint="/api/v1/users", headers={"Authorization": "Bearer {{test_token}}"}
    )
    assert users.current.kind == "http"
    assert users.baseline is not None
    assert users.baseline.output["body"]["users"][0]["email"] == "{{any_email}}"
    assert users.comparison.tolerance == {"allow_additional_fields": True, "allow_field_reordering": True}
    assert users.metadata.last_passed == "2024-01-20T14:00:00Z"
    assert (users.source.file, users.source.at, users.source.form) == (files[0], (0,), "native")
    assert isinstance(quality.current.execution, SkillExecution)
    assert quality.current.input == {
        "code_diff": "path/to/test-diff.patch",
        "context": "React component refactoring",
    }
    assert quality.comparison.tolerance == {"quality_scores": Tolerance(min_delta=-0.3)}
    assert endpoint.id == "reg-api-users-001"
    assert endpoint.baseline_version == "v2.3.1"
    assert endpoint.comparison.type == "structural"
    assert endpoint.comparison.options == Options(allow_additional_fields=True)
    assert endpoint.comparison.ignore_values == ["data.*", "meta.total"]
    assert endpoint.comparison.require_keys == ["data", "meta.page", "meta.per_page"]
    assert endpoint.metadata.criticality == "critical"
    assert endpoint.source.form == "response"


def test_every_form_of_a_file(tmp_path: Path) -> None:
    one = f"id: ID\n{CURRENT}\n"
    write(tmp_path, "one.yaml", "\ufeff" + one.replace("ID", "a").replace("\n", "\r\n"))
    write(tmp_path, "list.yml", f"- {{id: b, {CURRENT}}}\n- {{id: c, {CURRENT}}}\n")
    write(tmp_path, "several.yaml", f"---\n{one.replace('ID', 'd')}---\n---\n- {{id: e, {CURRENT}}}\n")
    write(
        tmp_path,
        "wrapped.yaml",
        f"regression_eval:\n  id: f\n  {CURRENT}\n---\nregression_eval: [{{id: g, {CURRENT}}}]\n",
    )
    write(
        tmp_path,
        "g.json",
        json.dumps({"id": "h", "current": {"input": {"url": "http://x"}, "execution": {"type": "http"}}}),
    )
    files = ["one.yaml", "list.yml", "several.yaml", "wrapped.yaml", "g.json"]
    baselines = load(files, str(tmp_path))
    assert [b.id for b in baselines] == list("abcdefgh")
    assert all(b.baseline is None for b in baselines)
    ats = [(), (0,), (1,), (), (0,), ("regression_eval",), ("regression_eval", 0), ()]
    assert [b.source.at for b in baselines] == ats
    assert [b.source.document for b in baselines] == [0, 0, 0, 0, 2, 0, 1, 0]
    assert [locate(b.source, ("id",), str(tmp_path)).line for b in baselines] == [1, 1, 2, 2, 6, 2, 5, 1]
    assert baselines[6].id == "g"


def test_every_error_of_every_file_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.yaml",
        "id: a b\nnam: x\n" + CURRENT + "\nmetadata: {criticality: hi, failure_count: '0'}\n",
    )
    write(tmp_path, "b.yaml", "id: b\nid: b\n")
    write(
        tmp_path,
        "c.yaml",
        f"- {{id: c, {CURRENT}}}\n- {{id: d, {CURRENT}}}\n- {{id: c, {CURRENT}}}\n- {{id: D, {CURRENT}}}\n",
    )
    with pytest.raises(InvalidInput) as caught:
        load(["a.yaml", "b.yaml", "c.yaml", "no.yaml"], str(tmp_path))
    assert [str(problem) for problem in caught.value.problems] == [
        "BK108 a.yaml:1:5: 'a b' is not a valid id: letters, digits, `.`, `_` and `-`, "
        "the first a letter or a digit, at most 128",
        "BK103 a.yaml:2:1: unknown key 'nam': did you mean 'name'?",
        "BK105 a.yaml:4:25: expected one of critical, high, medium, low, found 'hi' (string): "
        "did you mean 'high'?",
        "BK105 a.yaml:4:44: expected an integer of 0 or more, found '0' (string)",
        "BK102 b.yaml:2:1: the key 'id' occurs twice: remove one of the two",
        "BK111 no.yaml: cannot be read: no such file or directory: check the name",
        "BK109 c.yaml:3:8: the id 'c' occurs twice: it is at c.yaml:1:8 already; rename one of the two",
        "BK109 c.yaml:4:8: the id 'D' is 'd' in different case: "
        "it is at c.yaml:2:8 already; rename one of the two",
    ]


def test_the_json_form_has_its_own_places(tmp_path: Path) -> None:
    raw = json.loads((EXAMPLES / "users-endpoint.json").read_text())
    raw["grader"]["config"]["strict"] = True
    raw["test_case"]["comparison"]["options"]["allow_additional_fields"] = False
    write(tmp_path, "ok.yaml", json.dumps(raw))
    (baseline,) = load(["ok.yaml"], str(tmp_path))
    assert baseline.comparison.options == Options(allow_additional_fields=False)


def test_locating_in_both_forms() -> None:
    root = str(EXAMPLES)
    users, endpoint = load(["regression-api-users.yaml", "users-endpoint.json"], root)
    paths: list[tuple[Any, ...]] = [
        ("baseline", "output", "body", "users", 0, "email"),
        ("baseline", "output", "body", "users"),
        ("comparison", "ignore_fields", 1),
        ("baseline", "output", "body", "users", 0, "nothing"),
        ("metadata", "failure_count"),
        ("nowhere",),
        (),
    ]
    places = locate_all(users.source, paths, root)
    found = [(14, 20), (11, 9), (42, 9), (12, 13), (48, 20), (2, 3), (2, 3)]
    assert [(p.line, p.column) for p in places] == found
    paths = [
        ("baseline", "output", "body", "meta", "page"),
        ("baseline_version",),
        ("current", "input", "headers"),
        ("comparison", "ignore_values", 1),
        ("id",),
        ("current", "execution"),
    ]
    places = locate_all(endpoint.source, paths, root)
    assert [(p.line, p.column) for p in places] == [(23, 19), (13, 16), (33, 18), (40, 37), (5, 11), (29, 16)]
    assert locate(users.source, (), str(EXAMPLES / "gone")) == Place("regression-api-users.yaml")


def test_an_output_in_a_file_of_its_own(tmp_path: Path) -> None:
    for name in ("a.output.json", "b.output.txt", "c.output.bin"):
        write(tmp_path, f"b/{name[0]}.yaml", f"id: {name[0]}\n{CURRENT}\nbaseline: {{output_file: {name}}}\n")
    write(tmp_path, "b/a.output.json", '{"x": [1,\n {"y": 1e400}]}')
    write(tmp_path, "b/b.output.txt", b"\xef\xbb\xbfone\r\ntwo\n")
    write(tmp_path, "b/c.output.bin", b"\x00\xff")
    files = discover(["b"], str(tmp_path))
    assert files == ["b/a.yaml", "b/b.yaml", "b/c.yaml"]
    one, two, three = load(files, str(tmp_path))
    assert one.baseline is not None
    assert one.baseline.output == {"x": [1, {"y": Decimal("1e400")}]}
    assert two.baseline is not None
    assert two.baseline.output == "\ufeffone\r\ntwo\n"
    assert three.baseline is not None
    assert three.baseline.output == {
        "sha256": "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8",
        "size": 2,
    }
    inside = ("baseline", "output", "x", 1, "y")
    assert locate_all(one.source, [inside, ("id",)], str(tmp_path)) == [
        Place("b/a.output.json", 2, 8),
        Place("b/a.yaml", 1, 5),
    ]
    assert locate(two.source, ("baseline", "output"), str(tmp_path)) == Place("b/b.output.txt", 1, 1)
    write(tmp_path, "b/a.output.json", '{"x": 1, "x": 2}')
    write(tmp_path, "b/b.output.txt", b"\xff")
    with pytest.raises(InvalidInput, match=r"BK102 b/a.output.json:1:10(.|\n)*BK112 .*not UTF-8 text"):
        load(files, str(tmp_path))


WRONG = [
    ("", "BK110 f.yaml:1:1: not a baseline: the file is empty"),
    ("id: a\n", "BK104 f.yaml:1:1: the key 'current' is missing"),
    ("id: ../../etc\nCURRENT", "BK108 f.yaml:1:5: '../../etc' is not a valid id"),
    (f"id: {'x' * 129}\nCURRENT", "BK108 .* at most 128"),
    ("id: a\ncurrent: {input: {}}", "BK104 f.yaml:2:10: the key 'execution' is missing"),
    ("id: a\nnam: x\ncurrent: {input: hi, execution: {type: prompt}}", "BK103 f.yaml:2:1: unknown key 'nam'"),
    ("HTTP{steps: [{endpont: /x}]}", "BK103 f.yaml:2:28: .* did you mean 'endpoint'"),
    ("HTTP{endpoint: x}", "BK108 f.yaml:2:29: `endpoint` must start with `/`: such as /x"),
    ("HTTP{path: 'http://x/'}", "put the whole address under `url`"),
    ("HTTP{endpoint: /x, url: 'http://x'}", "`endpoint` and `url` cannot be combined"),
    ("HTTP{method: GET}", "BK104 .* the request names no target"),
    ("HTTP{url: 'ftp://x'}", "BK108 .* not an absolute http or https address"),
    ("HTTP{url: 'http://u:p@x/'}", "the address contains credentials: remove them, and use `auth`"),
    ("HTTP{endpoint: /x, method: 'G ET'}", "'G ET' is not an HTTP method"),
    ("HTTP{endpoint: /x, headers: {'a b': c}}", "BK108 .* 'a b' is not a header name"),
    ('HTTP{endpoint: /x, headers: {a: "b\\nc"}}', "a line break or control character in the header a"),
    ("HTTP{endpoint: /x, json: 1, body: x}", "`json` and `body` cannot be combined"),
    ("HTTP{endpoint: /x, params: {a: {}}}", "true or false or a list, found a mapping"),
    ("HTTP{steps: []}", "a flow without steps"),
    ("HTTP{steps: [{name: a, endpoint: /x}, {name: a, endpoint: /z}]}", "two steps are called 'a': 1 and 2"),
    ("id: a\ncurrent: {input: {argv: []}, execution: {type: command}}", "`argv` names no program"),
    ("MORE\nbaseline: {captured_at: x}", "BK104 .*`baseline` has no output(.|\n)*BK108 .* not an ISO 8601"),
    ("MORE\nbaseline: {output: 1, output_file: x}", "both `output` and `output_file`"),
    ("MORE\nmetadata: {last_passed: 2024-13-01}", "'2024-13-01' is not an ISO 8601 time"),
    ("MORE\ncomparison: {min_similarity: 2}", "expected a number from 0 to 1, found 2 [(]integer[)]"),
    ("MORE\ncomparison: {require_keys: [a], options: {require_keys: [b]}}", "given here and under `options`"),
    ("capability_eval: {id: a}", "BK110 f.yaml:1:1: not a baseline: this looks like a capability eval"),
    ("- evalcases: []", "BK110 f.yaml:1:3: .* an AgentV eval file"),
    ("a: 1\nb: 2", "BK110 f.yaml:1:1: not a baseline: it has neither id nor current, but a, b"),
    ("regression_eval: {id: a, CURRENT}\nid: b", "BK103 f.yaml:2:1: unknown key 'id' beside regression_eval"),
]
"""What golden cases do not hold."""


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_load_with_a_mistake_says_what_is_wrong_at_its_place(text: str, message: str, tmp_path: Path) -> None:
    if text.startswith("HTTP"):
        text = f"id: a\ncurrent: {{input: {text[4:]}, execution: {{type: http}}}}"
    text = text.replace("MORE", f"id: a\n{CURRENT}").replace("CURRENT", CURRENT)
    write(tmp_path, "f.yaml", text)
    with pytest.raises(InvalidInput, match=message):
        load(["f.yaml"], str(tmp_path))


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "link.txt", ".git/config"])
def test_an_output_file_stays_inside_the_project(name: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(tmp_path, "secret.txt", "s3cret")
    write(root, ".git/config", "x")
    (root / "link.txt").symlink_to("../secret.txt")
    write(root, "f.yaml", f"id: a\n{CURRENT}\nbaseline: {{output_file: {name}}}\n")
    with pytest.raises(Refused, match=r"BK404") as caught:
        load(["f.yaml"], str(root))
    assert "s3cret" not in str(caught.value)


def test_which_files_are_found(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ["2.yaml", "1.yml", "x/3.json", ".hide/4.yaml", "5.output.json", "6.txt", "baselinekit.yaml"]:
        write_baseline(root, f"b/{name}")
    write_baseline(tmp_path, "outside.yaml")
    (root / "b/out.yaml").symlink_to(tmp_path / "outside.yaml")
    (root / "b/in.yaml").symlink_to("x/3.json")
    (root / "b/loop").symlink_to(".")
    here = str(root)
    assert discover(["b"], here) == ["b/1.yml", "b/2.yaml", "b/in.yaml", "b/out.yaml", "b/x/3.json"]
    assert discover(["b/x", "b/2.yaml", "b/x/3.json"], here) == ["b/x/3.json", "b/2.yaml"]
    assert discover([str(root / "b/x")], here) == ["b/x/3.json"]
    assert discover(["../outside.yaml"], here) == [str(tmp_path / "outside.yaml")]
    assert load(discover(["../outside.yaml"], here), here)[0].id == "b"
    with pytest.raises(
        InvalidInput, match=r"there is no file or folder b/3\.yaml: did you mean '2.yaml'(.|\n)*BK110 b/6.txt"
    ):
        discover(["b/3.yaml", "b/6.txt"], here)
    with pytest.raises(Refused, match=r"BK404"):
        load(["b/out.yaml"], here)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    write(tmp_path, "big.yaml", b"#" * 20_000_001)
    write(tmp_path, "latin.yaml", "id: é\n".encode("latin-1"))
    with pytest.raises(InvalidInput) as caught:
        load(["fifo.yaml", "folder.yaml", "big.yaml", "latin.yaml"], str(tmp_path))
    assert [str(problem) for problem in caught.value.problems] == [
        "BK111 fifo.yaml: cannot be read: it is not a regular file: name a file",
        "BK111 folder.yaml: cannot be read: is a directory: name a file that you may read",
        "BK106 big.yaml: larger than 20,000,000 bytes: split it, or keep the output in a file beside it",
        "BK101 latin.yaml:1:5: byte 0xe9 is not UTF-8 text: save the file as UTF-8",
    ]
    with pytest.raises(Refused, match=r"BK404"):
        load(["zero.yaml"], str(tmp_path))


def test_a_record_that_no_file_holds_yet() -> None:
    draft = parse_record({"id": "a", "current": {"input": {"endpoint": "/x"}, "execution": {"type": "http"}}})
    assert draft.id == "a"
    assert draft.source.file == ""
    with pytest.raises(InvalidInput, match=r"BK108 'a b' is not a valid id"):
        parse_record({"id": "a b", "current": {"input": {"endpoint": "/x"}, "execution": {"type": "http"}}})
