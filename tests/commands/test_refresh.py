"""What a refresh does and what it refuses to do: from a failing compare, from another machine's results, from
the targets themselves."""

import base64
import json
from pathlib import Path

import pytest
from desk import Desk
from storehelp import write

from baselinekit.commands.loading import load
from baselinekit.commands.recording import mask_report
from baselinekit.commands.refresh import Permit, accepted_by, reason_against
from baselinekit.errors import InvalidInput, NothingSelected
from baselinekit.model.changes import ApprovalNote
from baselinekit.model.values import Json
from baselinekit.report import forms as table
from baselinekit.store.results import drop_pending

A = "status: 200\nbody: {n: 1, id: <<any_integer>>}   # what a says"
ANYTHING = Permit(high_risk=True, drop_placeholders=True)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Baseline `a` passes; from now on the service says something else."""
    desk = Desk(tmp_path)
    desk.put("a", A)
    desk.says("a", {"n": 1, "id": 5})
    assert desk.compare().summary.passed == 1
    desk.says("a", {"n": 2, "id": 5})
    return desk


def failed(desk: Desk) -> None:
    assert desk.compare(record="never").exit_code == 1


def test_refresh_removes_the_evidence_of_a_lost_placeholder(desk: Desk) -> None:
    file = desk.folder / "baselines/a.yaml"
    learnt = '  learnt: {body.n: "2 replays: 1, 2", body.id: "2 replays: 4, 5", body.gone: "2 replays: 6"}\n'
    text = file.read_text()
    assert text.count("current:") == 1
    file.write_text(text.replace("current:", f"{learnt}current:"))
    desk.says("a", {"n": 2, "id": 7})
    failed(desk)
    assert desk.refresh("a").ids == ("a",)
    (known,) = load(desk.project, [str(file)])
    assert known.baseline is not None
    assert known.baseline.learnt == {"body.id": "2 replays: 4, 5"}


def test_refresh_stores_the_kept_answer_without_a_request_and_keeps_comments(desk: Desk) -> None:
    failed(desk)
    requests_before = desk.asked
    desk.now = "2026-11-22T10:00:00Z"
    applied = desk.refresh("a", stamp=ApprovalNote("2.4", "ada", "new numbers"))
    assert desk.asked == requests_before
    assert applied.ids == ("a",)
    text = (desk.folder / "baselines/a.yaml").read_text()
    assert "body: {n: 2, id: <<any_integer>>}   # what a says" in text
    assert 'captured_at: "2026-11-21T10:00:00Z"' in text, "when it was seen, not when it was approved"
    assert 'baseline_version: "2.4"' in text
    assert "approved_by: ada\n" in text
    assert "reason: new numbers\n" in text
    assert "failure_count: 0   # since the release" in text
    assert "base_url: http://desk" in text
    assert desk.compare(record="never").summary.passed == 1
    assert desk.pending() == []
    desk.says("a", {"n": 3, "id": 5})
    failed(desk)
    file = desk.folder / "baselines/a.yaml"
    file.write_text(file.read_text().replace("# what a says", "# a comment makes nothing stale"))
    desk.refresh("a")
    assert "approved_by" not in file.read_text(), "an approval is of one output only"


def test_refresh_selects_by_id_pattern_and_folder(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for id in ("a", "ab", "c"):
        desk.put(id, "status: 200\nbody: {n: 1}", name=f"baselines/{id[0]}/{id}.yaml")
        desk.says(id, {"n": 2})
    failed(desk)

    def chosen(*words: str) -> list[str]:
        return [plan.baseline.id for plan in desk.propose(*words).plans]

    assert chosen() == ["a", "ab", "c"]
    assert chosen("a*") == ["a", "ab"]
    assert chosen("baselines/c", "ab") == ["c", "ab"]
    desk.says("c", {"n": 1})
    failed(desk)
    with pytest.raises(
        NothingSelected, match="BK530 there is nothing to refresh: answers are kept of a, ab: "
    ):
        chosen("c*")


@pytest.mark.parametrize(
    ("old", "new"),
    [("n: 1,", "n: 9,"), ("endpoint: /a", "endpoint: /a?x=1"), ("type: structural", "type: exact")],
)
def test_refresh_of_an_edited_baseline_is_refused(desk: Desk, old: str, new: str) -> None:
    failed(desk)
    file = desk.folder / "baselines/a.yaml"
    file.write_text(file.read_text().replace(old, new))
    (refusal,) = desk.propose("a").refusals
    assert refusal.problem.code == "BK531"
    assert refusal.problem.hint == "compare again: baselinekit compare --id a"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [("$", {0, 1, 2}), ("users", {0, 1}), ("body.users[1]", {1}), ("$.body.users[*].n", {0, 1}), ("v", {2})],
)
def test_refresh_path_accepts_changes_at_it_and_below(tmp_path: Path, path: str, wanted: set[int]) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "status: 200\nbody: {users: [{n: 1}, {n: 2}], v: 1}")
    desk.says("a", {"users": [{"n": 3}, {"n": 4}], "v": 2})
    failed(desk)
    assert accepted_by(desk.propose("a").plans, [path]) == [wanted]


def test_refresh_writes_rules_for_arrays_in_the_order_of_the_output(tmp_path: Path) -> None:
    """Not in that of a set, which differs from one process to the next."""
    desk = Desk(tmp_path)
    names = ["d", "b", "a", "e", "c"]
    rows = "".join(f"  {name}: [{{n: <<any_integer>>}}, {{n: <<any_integer>>}}]\n" for name in names)
    file = desk.put("a", f"status: 200\nbody:\n{rows}")
    desk.says("a", {name: [{"n": 1}] for name in names})
    failed(desk)
    desk.refresh("a")
    arrays = [line.strip() for line in file.read_text().splitlines() if line.endswith(": ordered")]
    assert arrays == [f"body.{name}: ordered" for name in names]


def test_refresh_names_a_rule_that_no_output_meets(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "status: 200\nbody: {v: 1}", "require_keys: [body.k]")
    desk.says("a", {"v": 1})
    failed(desk)
    (refusal,) = desk.propose("a").refusals
    assert refusal.problem.code == "BK537"
    assert "require_keys: body.k: is required" in refusal.problem.message
    desk.says("a", {"v": 2})
    failed(desk)
    (plan,) = desk.propose("a").plans
    assert plan.notes[0].startswith("it will still fail: require_keys: body.k: is required")


def test_refresh_stores_the_new_duration(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    file = desk.put("a", "status: 200\nbody: {v: 1}", "latency: {max_ratio: 2}")
    text = file.read_text().replace("current:\n", "  observed: {seconds: 0.001}\ncurrent:\n")
    file.write_text(text)
    desk.says("a", {"v": 1})
    failed(desk)
    (change,) = desk.propose("a").plans[0].changes
    assert (change.path, change.before, change.after) == (("observed", "seconds"), 0.001, 0.01)
    desk.refresh("a")
    assert "observed: {seconds: 0.01}" in file.read_text()
    assert desk.compare(record="never").summary.passed == 1


SECRET = "s3cr3t-Vg7pQ2xL9mZt"
ENCODED = base64.b64encode(SECRET.encode()).decode()
"""A spelling that no name can be written for."""


def test_refresh_never_approves_a_masked_value(tmp_path: Path) -> None:
    desk = Desk(tmp_path, operator={"secrets": {"token": SECRET}})
    file = desk.put("a", "status: 200\nbody: {who: x, n: 1}")
    desk.says("a", {"who": f"Bearer {ENCODED}", "n": 2})
    failed(desk)
    kept = (desk.folder / ".baselinekit/pending/a.json").read_text()
    assert ENCODED not in kept
    (plan,) = desk.propose("a").plans
    blocked = next(change for change in plan.changes if change.blocked)
    assert blocked.path == ("body", "who")
    assert "BK534 body.who was masked" in str(reason_against(plan, {0, 1}, ANYTHING))
    desk.refresh("a", paths=["n"])
    assert "body: {who: x, n: 2}" in file.read_text()


@pytest.mark.parametrize("from_results", [False, True])
def test_refresh_stores_a_new_declared_secret_by_its_name(tmp_path: Path, from_results: bool) -> None:
    desk = Desk(tmp_path, operator={"secrets": {"token": SECRET}})
    file = desk.put("a", "status: 200\nbody: {rows: [{who: x}]}")
    desk.says("a", {"rows": [{"who": "x"}, {"who": f"Bearer {SECRET} <<any>>"}]})
    text = results(desk)
    assert SECRET not in text + (desk.folder / ".baselinekit/pending/a.json").read_text()
    assert desk.refresh("a", **({"results": [("ci.json", text)]} if from_results else {})).ids == ("a",)
    assert r"Bearer <<var(token)>> \<<any>>" in file.read_text()
    assert desk.compare(record="never").summary.passed == 1


def results(desk: Desk) -> str:
    report = desk.compare(record="never")
    return table.render_report(mask_report(report, desk.project.redactor), "x.json")


def test_refresh_from_results_stores_their_answer(desk: Desk) -> None:
    desk.now = "2026-11-20T10:00:00Z"
    text = results(desk)
    drop_pending(str(desk.folder), "a")
    desk.now = "2026-11-21T10:00:00Z"
    requests_before = desk.asked
    assert desk.refresh("a", results=[("ci.json", text)]).ids == ("a",)
    assert desk.asked == requests_before
    taken = (desk.folder / "baselines/a.yaml").read_text()
    assert 'captured_at: "2026-11-20T10:00:00Z"' in taken
    assert desk.compare(record="never").summary.passed == 1


def test_refresh_from_results_refuses_other_baselines(desk: Desk) -> None:
    document = json.loads(results(desk))
    (result,) = document["results"]
    other = {**result, "id": "b"}
    old = {**result, "id": "a", "recipe_hash": "0"}
    large = {key: value for key, value in result.items() if key != "resolved"}

    def refused(*given: dict[str, object]) -> list[str]:
        document["results"] = list(given)
        document["summary"]["failed"] = len(given)
        proposal = desk.propose(all_failed=False, results=[("ci.json", json.dumps(document))])
        assert not proposal.plans
        return [item.problem.code for item in proposal.refusals]

    assert refused(other, old) == ["BK535", "BK531"]
    assert refused(large) == ["BK535"]
    with pytest.raises(NothingSelected, match="BK530"):
        refused()
    for text in ("{", "[]", '{"format": "other"}'):
        with pytest.raises(InvalidInput, match=r"BK1.. ci.json:1"):
            desk.propose(all_failed=False, results=[("ci.json", text)])
    document["run"]["started"] = "2999-01-01T00:00:00Z"
    document["results"], document["summary"]["failed"] = [result], 1
    (plan,) = desk.propose(all_failed=False, results=[("ci.json", json.dumps(document))]).plans
    assert plan.seen.captured_at == "2026-11-21T10:00:00Z", "no time that has not come"


def test_refresh_from_results_of_another_stored_output_is_refused(desk: Desk) -> None:
    """Whoever approved something since, by a refresh or by hand, keeps it, with the name and the reason."""
    text = results(desk)
    desk.refresh("a", stamp=ApprovalNote(by="ada", reason="two since 2.4"))
    (refusal,) = desk.propose(all_failed=False, results=[("ci.json", text)]).refusals
    assert (refusal.problem.code, "its stored output changed" in refusal.problem.message) == ("BK531", True)
    desk.put("a", "status: 200\nbody: {n: 3, id: <<any_integer>>}")
    document = json.loads(text)
    del document["results"][0]["expected_hash"]
    for results_file in (text, json.dumps(document)):
        (refusal,) = desk.propose(all_failed=False, results=[("ci.json", results_file)]).refusals
        assert refusal.problem.code == "BK531"


@pytest.mark.parametrize("rules", ["ignore_fields: [body.at]", "tolerance: {body.at: {abs: 9}}"])
def test_refresh_from_results_keeps_values_under_a_rule_added_since(tmp_path: Path, rules: str) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "status: 200\nbody: {n: 1, at: 1}")
    desk.says("a", {"n": 2, "at": 3})
    text = results(desk)
    desk.put("a", "status: 200\nbody: {n: 1, at: 1}", rules)
    (plan,) = desk.propose(all_failed=False, results=[("ci.json", text)]).plans
    assert [(change.path, change.after) for change in plan.changes] == [(("body", "n"), 2)]


def test_refresh_from_results_never_approves_a_masked_value(tmp_path: Path) -> None:
    desk = Desk(tmp_path, operator={"secrets": {"token": SECRET}})
    desk.put("a", "status: 200\nbody: {who: x}")
    desk.says("a", {"who": ENCODED})
    text = results(desk)
    (plan,) = desk.propose("a", results=[("ci.json", text)]).plans
    assert "BK534" in str(reason_against(plan, {0}, ANYTHING))


def test_refresh_groups_rows_of_one_form_only(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    came: list[Json] = [{"name": "Ada", "id": 2}, {"id": 3, "name": "Alan"}, {"total": 7}]
    for n, row in enumerate(came):
        desk.put(f"b{n}", "status: 200\nbody: [{id: 1}]")
        desk.says(f"b{n}", [{"id": 1}, row])
    failed(desk)
    groups = [(group.path, [n for n, _ in group.members]) for group in desk.propose().groups]
    assert groups == [("body[*]", [0, 1]), ("body[*]", [2])], "one yes for users is none for orders"


def test_refresh_writes_an_output_file_in_place(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    file = desk.put("a", "X")
    file.write_text(file.read_text().replace("  output:\n    X\n", "  output_file: a.output.json\n"))
    beside = desk.folder / "baselines/a.output.json"
    beside.write_text('{\n    "status": 200,\n    "body": {"n": 1, "id": "<<any_integer>>"}\n}\n')
    desk.says("a", {"n": 2, "id": 5})
    failed(desk)
    before = file.read_text()
    applied = desk.refresh("a")
    assert [item.file for item in applied.files] == ["baselines/a.yaml", "baselines/a.output.json"]
    assert beside.read_text() == '{\n    "status": 200,\n    "body": {"n": 2, "id": "<<any_integer>>"}\n}\n'
    assert "output_file: a.output.json\n" in file.read_text()
    assert before.count("\n") + 4 == file.read_text().count("\n"), "the environment, and nothing else"
    assert desk.compare(record="never").summary.passed == 1


def test_refresh_writes_the_json_form_in_place(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    document = {
        "schema_version": "1.0",
        "eval_type": "regression",
        "metadata": {"id": "a", "name": "A"},
        "baseline": {"version": "1", "response": {"status": 200, "body": {"n": 1, "u": "{{any_string}}"}}},
        "test_case": {"input": {"method": "GET", "endpoint": "/a"}},
    }
    write(tmp_path, "baselines/a.json", json.dumps(document, indent=4))
    desk.says("a", {"n": 2, "u": "x"})
    failed(desk)
    desk.refresh("a", stamp=ApprovalNote("2"))
    now = json.loads((tmp_path / "baselines/a.json").read_text())
    assert now["baseline"]["response"] == {"status": 200, "body": {"n": 2, "u": "{{any_string}}"}}
    assert (now["baseline"]["version"], now["metadata"]["failure_count"]) == ("2", 0)
    assert desk.compare(record="never").summary.passed == 1


def test_refresh_changes_the_variant_that_fits(tmp_path: Path) -> None:
    config = "base_url: http://desk\nenvironments: {staging: {}}\n"
    desk = Desk(tmp_path, config=config, operator={"environment": "staging"})
    file = desk.put("a", "status: 200\nbody: {n: 1}")
    variant = (
        "  variants:\n  - when: {environment: staging}\n    output: {status: 200, body: {n: 2}}   # there\n"
    )
    file.write_text(file.read_text().replace("current:\n", f"{variant}current:\n"))
    desk.says("a", {"n": 3})
    failed(desk)
    desk.refresh("a")
    text = file.read_text()
    assert "output: {status: 200, body: {n: 3}}   # there" in text
    assert "body: {n: 1}" in text
    assert desk.compare(record="never").summary.passed == 1


def test_refresh_refuses_an_output_that_its_rules_do_not_allow(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    file = desk.put("a", "status: 200\nbody: {rows: [{k: 1, v: 1}, {k: 2, v: 2}]}", "arrays: {rows: {by: k}}")
    desk.says("a", {"rows": [{"k": 1, "v": 1}, {"k": 1, "v": 2}]})
    failed(desk)
    before = file.read_text()
    assert [problem.code for problem in desk.refresh("a").failures] == ["BK221"]
    assert file.read_text() == before


def test_compare_of_value_that_differs_each_time_is_volatile(desk: Desk) -> None:
    first = desk.compare(record="never").results[0]
    desk.says("a", {"n": 9, "id": 5})
    second = desk.compare(record="never").results[0]
    assert (first.verdict, second.verdict) == (None, "partly volatile")
