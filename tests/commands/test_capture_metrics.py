"""Forms that a capture recognises. Prometheus metrics are captured as families, so that numbers never fail a
compare and a change of what dashboards rely on always does; JSON that is sent as plain text is captured as
JSON. Cases with known answers."""

import json
from pathlib import Path

import pytest
from learning_desk import learn
from ticking import START, Ticking, record, ticking

from baselinekit.commands.capture import Captured
from baselinekit.commands.compare import compare
from baselinekit.commands.judging import ComparePolicy
from baselinekit.commands.selection import Selection
from baselinekit.learning.lesson import ACCEPT, is_learnable_if_unchanged
from baselinekit.learning.varying import UnlearnablePlace
from baselinekit.values.paths import render

METRICS = """\
# HELP http_requests_total Requests by code.
# TYPE http_requests_total counter
http_requests_total{code="200"} 17
http_requests_total{code="404"} 2
# TYPE queue_depth gauge
queue_depth 4
# TYPE took_seconds histogram
took_seconds_bucket{le="0.1"} 3
took_seconds_bucket{le="+Inf"} 4
took_seconds_sum 1.5
took_seconds_count 4
# TYPE gc_seconds summary
gc_seconds{quantile="0.5"} 0.1
gc_seconds_sum 2
gc_seconds_count 7
# TYPE build_info gauge
build_info{version="1.2.3"} 1
"""
SAME = [
    (" 17\n", " 9000\n"),
    ("queue_depth 4", "queue_depth NaN"),
    ("gc_seconds_sum 2", "gc_seconds_sum 2.75e+09"),
    ('http_requests_total{code="404"} 2\n', ""),
    ('code="404"} 2\n', 'code="404"} 2\nhttp_requests_total{code="500"} 1\n'),
    ("# TYPE queue_depth", "# TYPE another counter\nanother 1\n# TYPE queue_depth"),
    ('took_seconds_bucket{le="0.1"} 3', 'took_seconds_bucket{le="0.1"} 4'),
]
CHANGED = [
    ("queue_depth", "queue_size"),
    ("# TYPE queue_depth gauge\nqueue_depth 4\n", ""),
    ("queue_depth gauge", "queue_depth counter"),
    ("Requests by code.", "Requests."),
    ("code=", "status="),
    ('code="200"', 'code="200",method="GET"'),
    ("queue_depth 4", 'queue_depth{shard="a"} 4'),
    ('took_seconds_bucket{le="0.1"} 3\n', ""),
    ('le="0.1"', 'le="0.2"'),
    ('quantile="0.5"', 'quantile="0.9"'),
    ('version="1.2.3"', 'version="1.2.4"'),
    ('version="1.2.3"', 'version="1.2.3",branch="main"'),
    ("queue_depth 4\n", ""),
    (METRICS, "<html>not found</html>\n"),
]


def capture(desk: Ticking, parse: str | None = None, *, exact: bool = False) -> Captured:
    draft = record("x")
    if parse:
        draft["current"]["input"]["parse"] = parse
    return desk.capture(draft, desk.ticking(), repeat=None, exact=exact)


def outcome(desk: Ticking) -> str:
    report = compare(desk.project, [], Selection(), ComparePolicy(record="never"), desk.ticking())
    return report.results[0].outcome


def metrics_desk(folder: Path, text: str = METRICS) -> Ticking:
    return ticking(folder, x=lambda now, number: text.replace(" 17\n", f" {17 + number}\n"))


@pytest.mark.parametrize("parse", [None, "prometheus"], ids=["recognised", "stated"])
def test_capture_of_metrics_ignores_numbers_and_compares_names(tmp_path: Path, parse: str | None) -> None:
    """Measured: of 7 ordinary changes none fails, of 14 changes of the metrics themselves none passes."""
    desk = metrics_desk(tmp_path)
    captured = capture(desk, parse)
    assert any("numbers are ignored" in note for note in captured.notes)
    outcomes = {}
    for before, after in [*SAME, *CHANGED]:
        assert before in METRICS
        desk.service["/x"] = lambda now, number, b=before, a=after: METRICS.replace(b, a)
        outcomes[before, after] = outcome(desk)
    assert [case for case in SAME if outcomes[case] != "passed"] == []
    assert [case for case in CHANGED if outcomes[case] == "passed"] == []


def test_capture_exact_of_metrics_ignores_nothing(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: METRICS)
    captured = capture(desk, exact=True)
    assert "ignore_values" not in (tmp_path / captured.file).read_text()
    desk.service["/x"] = lambda now, number: METRICS.replace("queue_depth 4", "queue_depth 5")
    assert outcome(desk) == "failed"


def test_capture_of_metrics_with_a_bad_line_keeps_the_text(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: METRICS + "and more\n")
    assert isinstance(capture(desk).output["body"], str)


def test_capture_of_json_sent_as_text_compares_it_as_json(tmp_path: Path) -> None:
    """As CouchDB and Buildbot send it: what varies in it is learnt by its key."""

    def answer(now: float, number: int) -> str:
        return json.dumps({"started": int(START - 90), "seq": number, "name": "shop"}, indent=2)

    desk = ticking(tmp_path, x=answer)
    captured = capture(desk)
    assert captured.output["body"] == {
        "started": "<<any_unix_timestamp>>",
        "seq": "<<any_integer(0)>>",
        "name": "shop",
    }
    assert any("JSON, sent as text/plain" in note for note in captured.notes)
    assert "parse: json" in (tmp_path / captured.file).read_text()
    assert outcome(desk) == "passed"
    desk.service["/x"] = lambda now, number: answer(now, number).replace("shop", "store")
    assert outcome(desk) == "failed"


OTHER_METRICS = '# TYPE up {type}\nup{{{label}="a"}} 1\n# TYPE age gauge\nage{{pid="7"}} 2\n'
STORED_METRICS = """\
status: 200
body:
  up: {type: gauge, labels: [job], samples: [{labels: {job: a}, value: 1}]}
  age: {type: gauge, labels: [pid], samples: [{labels: {pid: "7"}, value: 2}]}
"""


@pytest.mark.parametrize(
    ("type", "label", "path"),
    [
        ("gauge", "task", "body.up.labels[0]"),
        ("counter", "job", "body.up.type"),
        ("gauge", 'host="b",job', "body.up.labels"),
    ],
)
def test_learn_never_learns_names_of_metrics(tmp_path: Path, type: str, label: str, path: str) -> None:
    desk = ticking(tmp_path, x=lambda now, number: OTHER_METRICS.format(type=type, label=label))
    file = desk.put("x", STORED_METRICS, "ignore_values: [body.*.samples]\n")
    file.write_text(file.read_text().replace("type: http", "type: http, parse: prometheus"))
    plan = learn(desk, is_unchanged=True)
    assert (plan.lesson.volatile, plan.renewal) == ((), None)
    assert plan.lesson.refusals
    assert [item for item in plan.lesson.refusals if not render(item.path).startswith(path)] == []
    assert not any(map(is_learnable_if_unchanged, plan.lesson.refusals))


def test_is_learnable_if_unchanged_is_false_for_a_key_that_is_gone() -> None:
    gone = UnlearnablePlace(("body", "a"), "structural", "it is gone", ACCEPT)
    changed = UnlearnablePlace(("body", "a"), "unresolved", "it is 2, and 1 on file", ACCEPT)
    row = UnlearnablePlace(("body", 1), "structural", "it is gone", ACCEPT)
    assert [is_learnable_if_unchanged(place) for place in (gone, changed, row)] == [False, True, True]
