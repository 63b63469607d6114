"""Prometheus metrics as a value: each kind of family, labels, escapes; other texts."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.files.jsontext import NotJson
from baselinekit.kinds.bodies import read_metrics, undeclared_form

GAUGE = "# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n"
HISTOGRAM = """\
# TYPE took_seconds histogram
took_seconds_bucket{handler="/",le="0.1"} 3
took_seconds_bucket{handler="/",le="+Inf"} 4
took_seconds_sum{handler="/"} 1.5
took_seconds_count{handler="/"} 4
"""
SUMMARY = '# TYPE gc summary\ngc{quantile="0"} 1e-05\ngc{quantile="1"} 0.5\ngc_sum 2\ngc_count 7\n'
COUNTERS = """\
# TYPE read_total counter
read_total{disk="a"} 17
# TYPE written counter
written 3
"""


def family(kind: str, *samples: Any, labels: Any = (), **more: Any) -> dict[str, Any]:
    rows = {"samples": list(samples)} if samples else {}
    return {"type": kind, "labels": list(labels), **more, **rows}


BOTH = {"labels": {"handler": "/"}, "buckets": {"0.1": 3, "+Inf": 4}, "sum": 1.5, "count": 4}
DISK = {"labels": {"disk": "a"}, "value": 17}
READ = family("counter", DISK, labels=["disk"])
HELD = {"labels": {"a": 'q"u\\o\nte', "b": "}{"}, "value": "NaN"}
DOTTED = {"labels": {"a.b": "c"}, "value": 1}
QUANTILES = {"quantiles": {"0": 1e-05, "1": 0.5}, "sum": 2, "count": 7}


@pytest.mark.parametrize(
    ("text", "families"),
    [
        (GAUGE, {"up": family("gauge", {"value": 1}, help="Whether it is up.")}),
        ("up 1\nup_time 2.5 1700000000000\n",
         {"up": family("untyped", {"value": 1}), "up_time": family("untyped", {"value": 2.5})}),
        (HISTOGRAM, {"took_seconds": family("histogram", BOTH, labels=["handler"], buckets=["0.1", "+Inf"])}),
        (SUMMARY, {"gc": family("summary", QUANTILES, quantiles=["0", "1"])}),
        (COUNTERS, {"read_total": READ, "written": family("counter", {"value": 3})}),
        ('# TYPE go_info gauge\ngo_info{version="go1.19"} 1\n',
         {"go_info": family("gauge", labels=["version"], info=[{"version": "go1.19"}])}),
        ('x{ a="q\\"u\\\\o\\nte" , b="}{" } NaN\n', {"x": family("untyped", HELD, labels="ab")}),
        ("x +Inf\n\n# a comment\n", {"x": family("untyped", {"value": "+Inf"})}),
        ('# TYPE "my.metric" counter\n{"my.metric", "a.b"="c"} 1\n',
         {"my.metric": family("counter", DOTTED, labels=["a.b"])}),
        ("# TYPE never counter\n", {"never": {"type": "counter"}}),
        ("", {}),
    ],
)  # fmt: skip
def test_read_metrics_of_each_family_type(text: str, families: dict[str, Any]) -> None:
    assert read_metrics(text) == families


@pytest.mark.parametrize(
    "line", ["up", "up one", "<html>", "up{x=1} 2", 'up{x="1" 2', "1up 2", "a" * 20_001, "b 1\nup 2"]
)
def test_read_metrics_invalid_line_is_an_error_with_its_number(line: str) -> None:
    with pytest.raises(NotJson, match=r"line [45] is not a sample"):
        read_metrics(f"{GAUGE}{line}\n")


def test_undeclared_form_recognises_metrics_by_media_type() -> None:
    kind = "text/plain; version=0.0.4"
    for body, is_read in ((GAUGE, True), (f"{GAUGE}and then some words\n", False)):
        found = undeclared_form({"headers": {"content-type": kind}, "body": body}, "")
        assert found
        assert found.output["body"] == (read_metrics(body) if is_read else body)
    assert undeclared_form({"headers": {"content-type": "text/plain"}, "body": GAUGE}, "") is None


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(
    lambda name: name not in ("le", "quantile") and not name.startswith("__")
)


@given(
    st.dictionaries(NAMES, st.text(max_size=12), min_size=1, max_size=3),
    st.one_of(st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False)),
)
def test_read_metrics_any_label_text_round_trips(labels: dict[str, str], number: float) -> None:
    def quoted(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    line = ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items())
    (family,) = read_metrics(f"metric{{{line}}} {number!r}\n").values()
    assert family == {
        "type": "untyped",
        "labels": sorted(labels),
        "samples": [{"labels": dict(sorted(labels.items())), "value": number}],
    }


WITHOUT_THE_LIBRARY = """\
import sys
sys.modules["prometheus_client"] = None
from baselinekit.errors import CannotReplay
from baselinekit.kinds.bodies import read_metrics, undeclared_form
text = "# TYPE up gauge\\nup 1\\n"
output = {"headers": {"content-type": "text/plain; version=0.0.4"}, "body": text}
found = undeclared_form(output, "")
print(found.output == output, *found.notes)
try:
    read_metrics(text)
except CannotReplay as error:
    print(error)
"""


def test_read_metrics_without_library_names_the_extra() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_LIBRARY], capture_output=True, text=True, timeout=60
    )
    note, error = ran.stdout.splitlines()[-2:]
    assert note.startswith("True declared as Prometheus metrics, but compared as text")
    assert error.startswith("BK307")
    assert "pip install 'baselinekit[metrics]'" in error
