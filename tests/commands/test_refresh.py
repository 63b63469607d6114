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
from baselinekit.commands.refresh import Permit, accepted_by, apply, reason_against
from baselinekit.errors import InvalidInput, NothingSelected
from baselinekit.model.changes import Applied, Approval, ApprovalNote
from baselinekit.model.values import Json
from baselinekit.report.forms import table
from baselinekit.store.results import drop_pending
from baselinekit.values.paths import render

A = "status: 200\nbody: {n: 1, id: <<any_integer>>}   # what a says"
NOBODY = Permit()
ANYTHING = Permit(high_risk=True, drop_placeholders=True)


@pytest.fixture
def here(tmp_path: Path) -> Desk:
    """Baseline `a` passes; from now on the service says something else."""
    desk = Desk(tmp_path)
    desk.put("a", A)
    desk.says("a", {"n": 1, "id": 5})
    assert desk.compare().summary.passed == 1
    desk.says("a", {"n": 2, "id": 5})
    return desk


def failed(desk: Desk) -> None:
    assert desk.compare(record="never").exit_code == 1


def codes(applied: Applied) -> list[str]:
    return [problem.code for problem in applied.failures]


def refusals(desk: Desk, *words: str, **wanted: object) -> list[str]:
    return [one.problem.code for one in desk.propose(*words, **wanted).refusals]


def test_the_evidence_of_a_placeholder_goes_with_it(here: Desk) -> None:
    file = here.folder / "baselines/a.yaml"
    learnt = '  learnt: {body.n: "2 replays: 1, 2", body.id: "2 replays: 4, 5", body.gone: "2 replays: 6"}\n'
    text = file.read_text()
    assert text.count("current:") == 1
    file.write_text(text.replace("current:", f"{learnt}current:"))
    here.says("a", {"n": 2, "id": 7})
    failed(here)
    assert here.refresh("a").ids == ("a",)
    (known,) = load(here.project, [str(file)])
    assert known.baseline is not None
    assert known.baseline.learnt == {"body.id": "2 replays: 4, 5"}


def test_what_was_seen_becomes_the_baseline_and_nobody_is_asked_again(here: Desk) -> None:
    failed(here)
    asked = here.asked
    here.now = "2026-11-22T10:00:00Z"
    applied = here.refresh("a", stamp=ApprovalNote("2.4", "ada", "new numbers"))
    assert here.asked == asked
    assert applied.ids == ("a",)
    text = (here.folder / "baselines/a.yaml").read_text()
    assert "body: {n: 2, id: <<any_integer>>}   # what a says" in text
    assert 'captured_at: "2026-11-21T10:00:00Z"' in text, "when it was seen, not when it was approved"
    assert 'baseline_version: "2.4"' in text
    assert "approved_by: ada\n" in text
    assert "reason: new numbers\n" in text
    assert "failure_count: 0   # since the release" in text
    assert "base_url: http://desk" in text
    assert here.compare(record="never").summary.passed == 1
    assert here.pending() == []


def test_an_approval_is_of_one_output_only(here: Desk) -> None:
    failed(here)
    here.refresh("a", stamp=ApprovalNote(by="ada", reason="because"))
    here.says("a", {"n": 3, "id": 5})
    failed(here)
    here.refresh("a")
    text = (here.folder / "baselines/a.yaml").read_text()
    assert ("approved_by" in text, "reason" in text) == (False, False)


def test_what_is_selected(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    for id in ("a", "ab", "c"):
        here.put(id, "status: 200\nbody: {n: 1}", name=f"baselines/{id[0]}/{id}.yaml")
        here.says(id, {"n": 2})
    failed(here)

    def chosen(*words: str) -> list[str]:
        return [plan.baseline.id for plan in here.propose(*words).plans]

    assert chosen() == ["a", "ab", "c"]
    assert chosen("a") == ["a"]
    assert chosen("a*") == ["a", "ab"]
    assert chosen("baselines/c") == ["c"]
    assert chosen("baselines/c", "ab") == ["c", "ab"]
    here.says("c", {"n": 1})
    failed(here)
    with pytest.raises(NothingSelected, match=r"BK530 no answer is kept: .*; what is kept is of a, ab: "):
        chosen("c*")


@pytest.mark.parametrize(
    ("old", "new"),
    [("n: 1,", "n: 9,"), ("endpoint: /a", "endpoint: /a?x=1"), ("type: structural", "type: exact")],
)
def test_what_was_set_against_something_else_is_refused(here: Desk, old: str, new: str) -> None:
    failed(here)
    file = here.folder / "baselines/a.yaml"
    file.write_text(file.read_text().replace(old, new))
    (refusal,) = here.propose("a").refusals
    assert refusal.problem.code == "BK531"
    assert refusal.problem.hint == "compare again: baselinekit compare --id a"


def test_a_comment_or_a_record_makes_nothing_stale(here: Desk) -> None:
    failed(here)
    file = here.folder / "baselines/a.yaml"
    file.write_text(file.read_text().replace("# what a says", "# said").replace("count: 3", "count: 4"))
    assert here.refresh("a").ids == ("a",)
    assert "# said" in file.read_text()


def test_an_edit_between_the_plan_and_the_writing_is_not_lost(here: Desk) -> None:
    failed(here)
    (plan,) = here.propose("a").plans
    file = here.folder / "baselines/a.yaml"
    edited = file.read_text().replace("n: 1,", "n: 9,")
    file.write_text(edited)
    applied = apply(here.project, [Approval(plan, frozenset({0}))], ApprovalNote())
    assert codes(applied) == ["BK122"]
    assert file.read_text() == edited
    assert here.pending() == ["a"]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("body", {0, 1, 2}), ("$", {0, 1, 2}), ("users", {0, 1}), ("body.users[1]", {1}), ("**.n", {0, 1}),
        ("users[-1].n", {1}), ("$.body.users[*].n", {0, 1}), ("v", {2}), ("users.*", {0, 1}),
    ],
)  # fmt: skip
def test_a_path_accepts_what_changes_at_it_and_below(tmp_path: Path, path: str, wanted: set[int]) -> None:
    here = Desk(tmp_path)
    here.put("a", "status: 200\nbody: {users: [{n: 1}, {n: 2}], v: 1}")
    here.says("a", {"users": [{"n": 3}, {"n": 4}], "v": 2})
    failed(here)
    assert accepted_by(here.propose("a").plans, [path]) == [wanted]


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


def test_what_no_output_can_mend_is_told(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    here.put("a", "status: 200\nbody: {v: 1}", "require_keys: [body.k]")
    here.says("a", {"v": 1})
    failed(here)
    (refusal,) = here.propose("a").refusals
    assert refusal.problem.code == "BK537"
    assert "body.k is not there, but require_keys" in refusal.problem.message
    here.says("a", {"v": 2})
    failed(here)
    (plan,) = here.propose("a").plans
    assert plan.notes[0].startswith("it will still fail: body.k is not there")


def test_an_output_that_only_is_too_old_is_approved_anew(tmp_path: Path) -> None:
    here = Desk(tmp_path, operator={"now": 1_764_000_000.0})
    file = here.put("a", "status: 200\nbody: {v: 1}", "max_age: 30d")
    here.says("a", {"v": 1})
    failed(here)
    (plan,) = here.propose("a").plans
    (change,) = plan.changes
    assert (change.path, change.risk, change.part) == (("captured_at",), "low", "observed")
    before = file.read_text()
    here.refresh("a")
    expected = before.replace('captured_at: "2024-01-15T10:30:00Z"', 'captured_at: "2026-11-21T10:00:00Z"')
    assert expected.splitlines()[:7] == file.read_text().splitlines()[:7]


def test_how_long_it_may_take_is_counted_from_the_new_capture(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    file = here.put("a", "status: 200\nbody: {v: 1}", "latency: {max_ratio: 2}")
    text = file.read_text().replace("current:\n", "  observed: {seconds: 0.001}\ncurrent:\n")
    file.write_text(text)
    here.says("a", {"v": 1})
    failed(here)
    (change,) = here.propose("a").plans[0].changes
    assert (change.path, change.before, change.after) == (("observed", "seconds"), 0.001, 0.01)
    here.refresh("a")
    assert "observed: {seconds: 0.01}" in file.read_text()
    assert here.compare(record="never").summary.passed == 1


SECRET = "s3cr3t-Vg7pQ2xL9mZt"
ENCODED = base64.b64encode(SECRET.encode()).decode()
"""A spelling that no name can be written for."""


def test_a_masked_value_is_never_approved(tmp_path: Path) -> None:
    here = Desk(tmp_path, operator={"secrets": {"token": SECRET}})
    file = here.put("a", "status: 200\nbody: {who: x, n: 1}")
    here.says("a", {"who": f"Bearer {ENCODED}", "n": 2})
    failed(here)
    kept = (here.folder / ".baselinekit/pending/a.json").read_text()
    assert ENCODED not in kept
    (plan,) = here.propose("a").plans
    blocked = next(change for change in plan.changes if change.blocked)
    assert blocked.path == ("body", "who")
    problem = reason_against(plan, {0, 1}, ANYTHING)
    assert problem is not None
    assert (problem.code, "body.who was masked" in problem.message) == ("BK534", True)
    here.refresh("a", paths=["n"])
    assert "body: {who: x, n: 2}" in file.read_text()


@pytest.mark.parametrize("from_results", [False, True])
def test_declared_secret_that_is_new_is_approved_under_its_name(tmp_path: Path, from_results: bool) -> None:
    here = Desk(tmp_path, operator={"secrets": {"token": SECRET}})
    file = here.put("a", "status: 200\nbody: {rows: [{who: x}]}")
    here.says("a", {"rows": [{"who": "x"}, {"who": f"Bearer {SECRET} <<any>>"}]})
    text = results(here)
    assert SECRET not in text + (here.folder / ".baselinekit/pending/a.json").read_text()
    assert here.refresh("a", **({"results": [("ci.json", text)]} if from_results else {})).ids == ("a",)
    assert r"Bearer <<var(token)>> \<<any>>" in file.read_text()
    assert here.compare(record="never").summary.passed == 1


def test_a_text_of_the_author_that_looks_like_a_secret_is_no_change(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    file = here.put("a", "status: 200\nbody: {password: hunter2-and-more, n: 1}")
    here.says("a", {"password": "hunter2-and-more", "n": 2})
    failed(here)
    assert here.refresh("a").ids == ("a",)
    assert "body: {password: hunter2-and-more, n: 2}" in file.read_text()


def test_what_looks_like_a_secret_is_not_stored_either(here: Desk) -> None:
    here.says("a", {"n": 2, "id": 5, "aws": "AKIAIOSFODNN7QWERTYU"})
    failed(here)
    (plan,) = here.propose("a").plans
    problem = reason_against(plan, {0, 1}, ANYTHING)
    assert problem is not None
    assert problem.code == "BK534"


def results(desk: Desk) -> str:
    report = desk.compare(record="never")
    return table.render_report(mask_report(report, desk.project.redactor), "x.json")


def test_what_another_machine_saw_is_taken_over(here: Desk) -> None:
    here.now = "2026-11-20T10:00:00Z"
    text = results(here)
    drop_pending(str(here.folder), "a")
    here.now = "2026-11-21T10:00:00Z"
    asked = here.asked
    assert here.refresh("a", results=[("ci.json", text)]).ids == ("a",)
    assert here.asked == asked
    taken = (here.folder / "baselines/a.yaml").read_text()
    assert 'captured_at: "2026-11-20T10:00:00Z"' in taken
    assert "base_url: http://desk\n" in taken, "the address that was asked is noted, as after a compare here"
    assert here.compare(record="never").summary.passed == 1


def test_a_result_file_changes_nothing_but_outputs_of_baselines_that_are_here(here: Desk) -> None:
    document = json.loads(results(here))
    (result,) = document["results"]
    other = {**result, "id": "b"}
    old = {**result, "id": "a", "recipe_hash": "0"}
    large = {key: value for key, value in result.items() if key != "resolved"}

    def refused(*given: dict[str, object]) -> list[str]:
        document["results"] = list(given)
        document["summary"]["failed"] = len(given)
        proposal = here.propose(all_failed=False, results=[("ci.json", json.dumps(document))])
        assert not proposal.plans
        return [one.problem.code for one in proposal.refusals]

    assert refused(other, old) == ["BK535", "BK531"]
    assert refused(large) == ["BK535"]
    with pytest.raises(NothingSelected, match="BK530"):
        refused()
    for text in (
        "{",
        "[]",
        '{"format": "other"}',
        json.dumps({**document, "format": "baselinekit.results/9"}),
    ):
        with pytest.raises(InvalidInput, match=r"BK1.. ci.json:1"):
            here.propose(all_failed=False, results=[("ci.json", text)])
    document["run"]["started"] = "2999-01-01T00:00:00Z"
    document["results"], document["summary"]["failed"] = [result], 1
    (plan,) = here.propose(all_failed=False, results=[("ci.json", json.dumps(document))]).plans
    assert plan.seen.captured_at == "2026-11-21T10:00:00Z", "no time that has not come"


def test_refresh_from_results_of_another_stored_output_is_refused(here: Desk) -> None:
    """Whoever approved something since, by a refresh or by hand, keeps it, with the name and the reason."""
    text = results(here)
    here.refresh("a", stamp=ApprovalNote(by="ada", reason="two since 2.4"))
    approved = (here.folder / "baselines/a.yaml").read_bytes()
    (refusal,) = here.propose(all_failed=False, results=[("ci.json", text)]).refusals
    assert (refusal.problem.code, "its stored output changed" in refusal.problem.message) == ("BK531", True)
    here.put("a", "status: 200\nbody: {n: 3, id: <<any_integer>>}")
    assert refusals(here, all_failed=False, results=[("ci.json", text)]) == ["BK531"]
    assert b"approved_by: ada" in approved


def test_refresh_from_results_without_a_hash_of_the_stored_output_is_refused(here: Desk) -> None:
    document = json.loads(results(here))
    del document["results"][0]["expected_hash"]
    assert refusals(here, all_failed=False, results=[("ci.json", json.dumps(document))]) == ["BK531"]


@pytest.mark.parametrize("rules", ["ignore_fields: [body.at]", "tolerance: {body.at: {abs: 9}}"])
def test_refresh_from_results_with_a_rule_added_since_keeps_it(tmp_path: Path, rules: str) -> None:
    here = Desk(tmp_path)
    here.put("a", "status: 200\nbody: {n: 1, at: 1}")
    here.says("a", {"n": 2, "at": 3})
    text = results(here)
    here.put("a", "status: 200\nbody: {n: 1, at: 1}", rules)
    (plan,) = here.propose(all_failed=False, results=[("ci.json", text)]).plans
    assert [(render(one.path), one.after, one.lost) for one in plan.changes] == [("body.n", 2, ())]


def test_a_secret_that_was_masked_in_a_result_file_is_not_approved(tmp_path: Path) -> None:
    here = Desk(tmp_path, operator={"secrets": {"token": SECRET}})
    here.put("a", "status: 200\nbody: {who: x}")
    here.says("a", {"who": ENCODED})
    text = results(here)
    (plan,) = here.propose("a", results=[("ci.json", text)]).plans
    problem = reason_against(plan, {0}, ANYTHING)
    assert problem is not None
    assert problem.code == "BK534"


def test_rows_of_another_form_are_no_group(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    came: list[Json] = [{"name": "Ada", "id": 2}, {"id": 3, "name": "Alan"}, {"total": 7}]
    for n, row in enumerate(came):
        here.put(f"b{n}", "status: 200\nbody: [{id: 1}]")
        here.says(f"b{n}", [{"id": 1}, row])
    failed(here)
    told = [(group.path, [n for n, _ in group.members]) for group in here.propose().groups]
    assert told == [("body[*]", [0, 1]), ("body[*]", [2])], "one yes for users is none for orders"


def test_an_output_in_a_file_of_its_own_stays_there(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    file = here.put("a", "X")
    file.write_text(file.read_text().replace("  output:\n    X\n", "  output_file: a.output.json\n"))
    beside = here.folder / "baselines/a.output.json"
    beside.write_text('{\n    "status": 200,\n    "body": {"n": 1, "id": "<<any_integer>>"}\n}\n')
    here.says("a", {"n": 2, "id": 5})
    failed(here)
    before = file.read_text()
    applied = here.refresh("a")
    assert [one.file for one in applied.files] == ["baselines/a.yaml", "baselines/a.output.json"]
    assert beside.read_text() == '{\n    "status": 200,\n    "body": {"n": 2, "id": "<<any_integer>>"}\n}\n'
    assert "output_file: a.output.json\n" in file.read_text()
    assert before.count("\n") + 4 == file.read_text().count("\n"), "the environment, and nothing else"
    assert here.compare(record="never").summary.passed == 1


def test_the_json_form_is_refreshed_in_place(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    document = {
        "schema_version": "1.0",
        "eval_type": "regression",
        "metadata": {"id": "a", "name": "A"},
        "baseline": {"version": "1", "response": {"status": 200, "body": {"n": 1, "u": "{{any_string}}"}}},
        "test_case": {"input": {"method": "GET", "endpoint": "/a"}},
    }
    write(tmp_path, "baselines/a.json", json.dumps(document, indent=4))
    here.says("a", {"n": 2, "u": "x"})
    failed(here)
    here.refresh("a", stamp=ApprovalNote("2"))
    now = json.loads((tmp_path / "baselines/a.json").read_text())
    assert now["baseline"]["response"] == {"status": 200, "body": {"n": 2, "u": "{{any_string}}"}}
    assert (now["baseline"]["version"], now["metadata"]["failure_count"]) == ("2", 0)
    assert here.compare(record="never").summary.passed == 1


def test_the_output_that_is_meant_for_a_place_is_the_one_that_changes(tmp_path: Path) -> None:
    config = "base_url: http://desk\nenvironments: {staging: {}}\n"
    here = Desk(tmp_path, config=config, operator={"environment": "staging"})
    file = here.put("a", "status: 200\nbody: {n: 1}")
    variant = (
        "  variants:\n  - when: {environment: staging}\n    output: {status: 200, body: {n: 2}}   # there\n"
    )
    file.write_text(file.read_text().replace("current:\n", f"{variant}current:\n"))
    here.says("a", {"n": 3})
    failed(here)
    here.refresh("a")
    text = file.read_text()
    assert "output: {status: 200, body: {n: 3}}   # there" in text
    assert "body: {n: 1}" in text
    assert here.compare(record="never").summary.passed == 1


def test_several_baselines_of_one_file_are_refreshed_together(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    texts = []
    for id in ("a", "b", "c"):
        path = here.put(id, "status: 200\nbody: {n: 1}")
        texts.append(path.read_text())
        path.unlink()
        here.says(id, {"n": 2 if id != "b" else 1})
    file = here.folder / write(tmp_path, "baselines/all.yaml", "---\n".join(texts))
    failed(here)
    assert here.refresh().ids == ("a", "c")
    assert [line for line in file.read_text().splitlines() if "body" in line] == [
        "    body: {n: 2}", "    body: {n: 1}", "    body: {n: 2}",
    ]  # fmt: skip
    assert here.compare(record="never").summary.passed == 3


def test_what_would_be_no_baseline_any_more_is_not_written(tmp_path: Path) -> None:
    here = Desk(tmp_path)
    file = here.put("a", "status: 200\nbody: {rows: [{k: 1, v: 1}, {k: 2, v: 2}]}", "arrays: {rows: {by: k}}")
    here.says("a", {"rows": [{"k": 1, "v": 1}, {"k": 1, "v": 2}]})
    failed(here)
    before = file.read_text()
    assert codes(here.refresh("a")) == ["BK221"]
    assert file.read_text() == before


def test_where_nothing_can_be_written_that_is_told_and_nothing_is_lost(here: Desk) -> None:
    failed(here)
    before = (here.folder / "baselines/a.yaml").read_text()
    (here.folder / ".baselinekit/locks").rename(here.folder / "locks-away")
    write(here.folder, ".baselinekit/locks", "in the way")
    assert codes(here.refresh("a")) == ["BK120"]
    assert (here.folder / "baselines/a.yaml").read_text() == before
    assert here.pending() == ["a"]


def test_compare_of_value_that_differs_each_time_is_to_be_learnt(here: Desk) -> None:
    first = here.compare(record="never").results[0]
    here.says("a", {"n": 9, "id": 5})
    second = here.compare(record="never").results[0]
    assert (first.verdict, second.verdict) == (None, "partly volatile")
