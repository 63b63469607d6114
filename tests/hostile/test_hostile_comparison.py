"""No false pass, no false fail and no endless comparison, whatever the baseline and the answer: through
files, a real service and the real command (F08 to F12, F22, F52, F54, F55)."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from attacked import attacked
from server import TEXT, whole

from baselinekit.model.values import Json

pytestmark = pytest.mark.slow


UNORDERED = {"arrays": {"$.body": "unordered"}}
SUBSET = {"arrays": {"$.body": "subset"}}
WITHIN: dict[str, Any] = {**UNORDERED, "tolerance": {"$.body": {"abs": 0.5}}}
CLOSE = {"tolerance": {"$.body": {"abs": 5}}}
FALLS = {"type": "numeric", "tolerance": {"*": {"min_delta": -0.3}}}
RELATIVE: dict[str, Any] = {"type": "numeric", "tolerance": {"*": {"abs": 2, "rel": 0.5}}}
FIFTH = {"tolerance": {"*": {"abs": 0.2}}}
LOOSE_FIRST = [{"id": "<<any>>"}, {"id": 1}]
HUGE, DIGITS = 10**400, "7" * 1_000
PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "pass-order": ([1, 1, 2], [2, 1, 1], UNORDERED),
    "fail-times": ([1, 1, 2], [1, 2, 2], UNORDERED),
    "fail-loose-rows": (LOOSE_FIRST, [{"id": 2}, {"id": 2}], UNORDERED),
    "pass-chain": ([1, 1.5, 2], [2.5, 1, 1.5], WITHIN),
    "fail-one-for-two": ([1, 1.2], [1.1, 9], WITHIN),
    "fail-nested": ([[1, 2], [3]], [[3], [2, 1]], UNORDERED),
    "fail-subset": ([2, 2], [1, 2, 3], SUBSET),
    "fail-true-is-1": (True, 1, {}),
    "fail-true-within-a-tolerance": ({"n": 1}, {"n": True}, CLOSE),
    "fail-null-is-absent": ({"a": None}, {}, {}),
    "fail-text-is-number": ({"a": 1}, {"a": "1"}, CLOSE),
    "fail-empty-is-null": ([], None, {}),
    "fail-any-integer": ("<<any_integer>>", True, {}),
    "fail-exactly": ({"a": 1}, {"a": 1.0}, {"type": "exact"}),
    "pass-falls-to-the-limit": ([4.2, 1.1], [3.9, 0.8], FALLS),
    "fail-falls-further": ([1.1], b"[0.7999999999999999]", FALLS),
    "pass-zeros-at-the-end": ([0.3], b"[0.30000000000000000000]", {"type": "numeric"}),
    "fail-last-digit": ([0.3], b"[0.30000000000000004]", {"type": "numeric"}),
    "pass-abs": ([0.1], [0.3], FIFTH),
    "fail-abs": ([0.1], b"[0.30000000000000000001]", FIFTH),
    "fail-huge-within": ([HUGE], [1.5], RELATIVE),
    "fail-next-to-huge": ([HUGE], [HUGE + 1], {}),
    "fail-digits": (int(DIGITS), DIGITS[:-1].encode() + b"8", {}),
    "fail-2-53-float": ([2**53 + 1], b"[9007199254740992.0]", {}),
    "pass-written": ([10**23], b"[1e23]", {}),
    "fail-written": ([99999999999999991611392], b"[1e23]", {}),
    "fail-in-any-order": ([99999999999999991611392, 1], b"[1, 1e23]", UNORDERED),
    "pass-beyond-a-float": ("<<any_number>>", b"1e400", {}),
    "fail-beyond-a-float": ([HUGE], b"[1.0000000000000000001e400]", {}),
    "pass-minus-nothing": ([0], b"[-0.0]", {}),
}


def test_f08_f11_f12_f52_rows_types_tolerances_and_digits_are_kept_apart(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        for id, (expected, actual, rules) in PAIRS.items():
            project.pair(id, expected, actual, rules)
        results = project.run("compare", "--json").results
    outcomes = {id: result["outcome"] for id, result in results.items()}
    assert outcomes == {id: "passed" if id.startswith("pass") else "failed" for id in PAIRS}


def test_f10_compare_that_checked_nothing_does_not_pass(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        project.configure()
        assert project.run("compare").exit_code == 5
        project.pair("a", {"a": "x"}, {"a": "x"}, {"ignore_fields": ["nothing.like.it"]})
        for words, exit_code, message in (
            ("--id another", 5, "BK509"),
            ("--tag none", 5, "BK509"),
            ("", 0, "nothing.like.it matched nothing"),
            ("--strict-rules", 3, "BK226"),
        ):
            ran = project.run("compare", *words.split())
            assert (ran.exit_code, message in ran.output) == (exit_code, True), ran.output
        project.file("baselines/a.yaml", "id: d\ncurrent: {input: {endpoint: /}, execution: {type: http}}\n")
        ran = project.run("compare", "--json")
        assert (ran.exit_code, ran.outcomes) == (3, {"d": ("unscored", "BK223")})


def test_f09_compare_that_reaches_a_limit_does_not_pass(tmp_path: Path) -> None:
    alike = [{"n": f"<<any_integer({n}, 99999)>>", "m": 0.5} for n in range(2_100)]
    loose = {**UNORDERED, "tolerance": {"$.body": {"abs": 9}}}
    with attacked(tmp_path / "project") as project:
        project.pair("many", list(range(12_000)), [n + 1 for n in range(0, 24_000, 2)])
        project.pair("unmatchable", alike, [{"n": n, "m": 1.5} for n in range(2_100)][::-1], loose)
        project.pair("long", "<<regex('x*')>>", "x" * 1_000_001)
        results = project.run("compare", "--json").results
    assert results["many"]["outcome"] == "failed"
    assert results["many"]["difference_count"] >= 12_000
    assert len(results["many"]["differences"]) == 10_000
    assert (results["unmatchable"]["outcome"], results["unmatchable"]["code"]) == ("error", "BK231")
    assert (results["long"]["outcome"], results["long"]["code"]) == ("error", "BK215")


def test_f10_rules_that_ignore_everything_are_refused(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [{"ignore_fields": [path]} for path in ("$", "**", "$.*", "body")]
    with attacked(tmp_path / "project") as project:
        for number, comparison in enumerate([*rules, {"type": "numeric"}]):
            project.pair(f"b{number}", {"a": "x"}, {"a": "x"}, comparison)
        ran = project.run("compare")
    assert ran.exit_code == 2
    assert re.findall(r"BK224 baselines/(b\d).yaml", ran.err) == ["b0", "b1", "b2", "b3", "b4"]


def test_f11_f52_numbers_that_are_not_json_never_load(tmp_path: Path) -> None:
    words = ["NaN", "Infinity", "-Infinity", "1e999999", "-1e999999"]
    floor = {"tolerance": {"*": {"min_delta": 0}}}
    with attacked(tmp_path / "project") as project:
        for number, word in enumerate(words):
            project.pair(f"a{number}", {"score": 0.8}, b'{"score": %s}' % word.encode(), floor)
        results = project.run("compare", "--json").results
        assert {(result["outcome"], result["code"]) for result in results.values()} == {("error", "BK307")}
        for number, word in enumerate([".nan", ".inf", "-.inf", "1e999999", "-1e999999"]):
            stated = (project.folder / f"baselines/a{number}.yaml").read_text()
            project.file(f"baselines/a{number}.yaml", stated.replace("0.8", word))
        ran = project.run("compare")
        assert ran.exit_code == 2
        assert len(re.findall(r"BK106 baselines/a\d.yaml:2:\d+:", ran.err)) == len(words), ran.err


def test_f52_too_many_digits_are_an_error_on_either_side(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        project.pair("answer", [1], b"[" + b"9" * 5_000 + b"]")
        results = project.run("compare", "--json").results
        assert (results["answer"]["outcome"], results["answer"]["code"]) == ("error", "BK307")
        project.baseline("file", '{"body": [%s]}' % ("9" * 5_000))
        ran = project.run("compare", "--id", "file")
        assert ran.exit_code == 2
        assert "digits" in ran.output
        assert len(ran.output) < 1_000


SLOW = {"(a|aa)+$": "a" * 3_000, "(?:a?){900}a{900}": "a" * 3_000, "(.*?,){30}P": "1," * 30}


def test_f22_slow_expression_is_an_error_of_its_own_baseline(tmp_path: Path) -> None:
    """Its own baselines are errors; the hundred beside it have their verdicts, and the command its time."""
    with attacked(tmp_path / "project") as project:
        project.configure(placeholders={"slow": "(a|aa)+$", "blanks": ".*\\s+$"})
        for number, (pattern, text) in enumerate(SLOW.items()):
            project.pair(f"slow-{number}", f"<<regex('{pattern}')>>", f"{text}!")
        project.pair("slow-own", {"a": "<<slow>>"}, {"a": "a" * 40 + "!"})
        project.pair("slow-blanks", "<<blanks>>", " " * 50_000 + "!")
        project.pair("slow-anys", "<<any>>a<<any>>a<<any>>a<<any>>b", "a" * 5_000)
        for number in range(100):
            project.pair(f"good-{number}", {"id": "<<regex('[a-z]+-\\d{3}')>>"}, {"id": "abc-123"})
        began = time.monotonic()
        results = project.run("compare", "--json", "-j", "4").results
        assert time.monotonic() - began < 30
    slow = {id: (result["outcome"], result["code"]) for id, result in results.items() if "slow" in id}
    assert slow == dict.fromkeys(slow, ("error", "BK215"))
    assert {result["outcome"] for id, result in results.items() if "good" in id} == {"passed"}


def test_f22_many_expressions_share_one_limit(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        rows = [{"n": n, "t": "a" * 20 + "!"} for n in range(3_000)]
        project.pair("many", [{"n": "<<any>>", "t": "<<regex('(a+)+b|.*[!]')>>"}], rows)
        project.pair("good", {"t": "<<regex('a+')>>"}, {"t": "aaa"})
        ran = project.run("compare", "--no-record")
        assert ran.exit_code in (0, 3)
        assert ran.cpu < 8
        assert project.run("compare", "--id", "good").exit_code == 0


RUNAWAYS = [
    "$..a..a..a",
    "$.body[?(@.a =~ '(a+)+$')]",
    "x." * 600,
    "$" + ".a" * 600,
    "a[",
    "$.`parent`.`parent`",
    "$.a.`sub(/(a+)+$/, x)`",
    "$[" + "?(@." * 200 + ")]" * 200,
    "$" + "(" * 1000,
]


def test_f54_path_that_could_run_away_is_refused(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        for number, path in enumerate(RUNAWAYS):
            project.pair(f"p{number}", {"a": 1}, {"a": 1}, {"ignore_fields": [path]})
        assert project.run("doctor").cpu < 5
        ran = project.run("compare")
    assert ran.exit_code == 2
    assert re.findall(r"BK201 baselines/p(\d)", ran.err) == [str(n) for n in range(len(RUNAWAYS))]
    assert "Traceback" not in ran.output
    assert len(ran.output) < 4_000


def test_f54_many_rules_on_a_deep_document_take_bounded_time(tmp_path: Path) -> None:
    deep: Json = {"a": 1}
    for _ in range(20):
        deep = {"a": deep, "b": [deep["a"] if isinstance(deep["a"], int) else 0] * 20, "c": {"a": 2}}
    paths = [".".join(["**", *"ab"[n % 2 :: 2], *(["**", "c"] * (n % 4)), f"k{n}"]) for n in range(300)]
    with attacked(tmp_path / "project") as project:
        project.pair("a", deep, deep, {"ignore_fields": paths})
        ran = project.run("compare")
    assert ran.exit_code == 0
    assert ran.cpu < 10


def test_f55_large_answers_are_compared_whole_and_in_time(tmp_path: Path) -> None:
    with attacked(tmp_path / "project") as project:
        lines = b"\n".join(b"line %d" % n for n in range(5_000))
        project.server.routes["/text"] = whole(lines, TEXT)
        project.baseline("text", {"body": "\n".join(f"Line {n}" for n in range(5_000))})
        project.pair("alike", ["xy"[n % 2] for n in range(4_000)], ["xy"[n % 3 > 0] for n in range(4_000)])
        project.pair(
            "alike-text",
            "\n".join("xy"[n % 2] for n in range(4_000)),
            "\n".join("xy"[n % 3 > 0] for n in range(4_000)),
        )
        project.pair("one-line", "x" * 500_000 + "a" + "x" * 500_000, "x" * 500_000 + "b" + "x" * 500_000)
        ran = project.run("compare", "-v", "-o", "r.json", "-o", "r.md", "-o", "r.junit.xml")
        assert ran.exit_code == 1
        assert ran.cpu < 15
        results = json.loads((project.folder / "r.json").read_text())["results"]
    assert {result["id"]: result["outcome"] for result in results} == dict.fromkeys(
        ["text", "alike", "alike-text", "one-line"], "failed"
    )
