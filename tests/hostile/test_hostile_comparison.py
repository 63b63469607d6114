"""No false pass, no false fail and no endless comparison, whatever the baseline and the answer: through
files, a real service and the real command (F08 to F12, F22, F52, F54, F55)."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from answers import Answer, world

from baselinekit.model.values import Json

pytestmark = pytest.mark.slow

UNORDERED = {"arrays": {"$.body": "unordered"}}


def judged(folder: Path, cases: dict[str, tuple[Any, Any, dict[str, Any]]]) -> dict[str, str]:
    """The outcome of each case, all of them compared in one run."""
    with world(folder / "project") as here:
        for id, (expected, actual, comparison) in cases.items():
            here.baseline(id, expected, actual, comparison)
        return here.outcomes()


def test_f08_in_any_order_each_row_still_has_one_partner_of_its_own(tmp_path: Path) -> None:
    within = {**UNORDERED, "tolerance": {"$.body": {"abs": 0.5}}}
    strict_first = [{"id": "<<any>>"}, {"id": 1}]
    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "pass-order": ([1, 1, 2], [2, 1, 1], UNORDERED),
        "fail-times": ([1, 1, 2], [1, 2, 2], UNORDERED),
        "fail-fewer": ([1, 1], [1], UNORDERED),
        "fail-more": ([1], [1, 1], UNORDERED),
        "fail-true": ([1, 0], [True, False], UNORDERED),
        "pass-loose-row-first": (strict_first, [{"id": 1}, {"id": 2}], UNORDERED),
        "fail-loose-rows": (strict_first, [{"id": 2}, {"id": 2}], UNORDERED),
        "pass-within": ([1, 2], [2.5, 0.5], within),
        "pass-chain": ([1, 1.5, 2], [2.5, 1, 1.5], within),
        "fail-within": ([1, 2], [2.51, 0.5], within),
        "fail-one-for-two": ([1, 1.2], [1.1, 9], within),
        "pass-nested": ([[1, 2], [3]], [[3], [1, 2]], UNORDERED),
        "fail-nested": ([[1, 2], [3]], [[3], [2, 1]], UNORDERED),
        "pass-subset": ([2], [1, 2, 3], {"arrays": {"$.body": "subset"}}),
        "fail-subset": ([2, 2], [1, 2, 3], {"arrays": {"$.body": "subset"}}),
    }
    outcomes = judged(tmp_path, cases)
    assert outcomes == {id: "passed" if id.startswith("pass") else "failed" for id in cases}


def test_f09_a_limit_that_is_reached_is_never_a_pass(tmp_path: Path) -> None:
    alike = [{"n": f"<<any_integer({n}, 99999)>>", "m": 0.5} for n in range(2_100)]
    loose = {**UNORDERED, "tolerance": {"$.body": {"abs": 9}}}
    with world(tmp_path / "project") as here:
        here.baseline("many", list(range(20_000)), [n + 1 for n in range(0, 40_000, 2)])
        here.baseline("unmatchable", alike, [{"n": n, "m": 1.5} for n in range(2_100)][::-1], loose)
        here.baseline("long", "<<regex('x*')>>", "x" * 1_000_001)
        results = here.results()
    assert results["many"]["outcome"] == "failed"
    assert results["many"]["difference_count"] >= 20_000
    assert len(results["many"]["differences"]) == 10_000
    assert (results["unmatchable"]["outcome"], results["unmatchable"]["code"]) == ("error", "BK231")
    assert (results["long"]["outcome"], results["long"]["code"]) == ("error", "BK215")


def test_f10_rules_that_ignore_everything_are_no_baseline(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [{"ignore_fields": [path]} for path in ("$", "**", "$.*", "body")]
    with world(tmp_path / "project") as here:
        for number, comparison in enumerate([*rules, {"type": "numeric"}]):
            here.baseline(f"b{number}", {"a": "x"}, {"a": "x"}, comparison)
        ran = here.run("compare")
    assert ran.exit_code == 2
    assert re.findall(rb"BK224 baselines/(b\d).yaml", ran.err) == [b"b0", b"b1", b"b2", b"b3", b"b4"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--id", "another"), 5, b"BK509"),
        (("--tag", "none"), 5, b"BK509"),
        (("-k", "not a"), 5, b"BK509"),
        ((), 0, b"nothing.like.it matched nothing"),
        (("--strict-rules",), 3, b"BK226"),
    ],
)
def test_f10_what_was_not_checked_is_no_pass(tmp_path: Path, words: Any, code: int, says: bytes) -> None:
    with world(tmp_path / "project") as here:
        here.baseline("a", {"a": "x"}, {"a": "x"}, {"ignore_fields": ["nothing.like.it"]})
        ran = here.run("compare", *words)
    assert (ran.exit_code, says in ran.said) == (code, True), ran.said


def test_f10_no_baseline_at_all_is_no_pass(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        assert here.run("compare").exit_code == 5
        here.file("baselines/draft.yaml", "id: d\ncurrent: {input: {endpoint: /}, execution: {type: http}}\n")
        assert here.outcomes() == {"d": "unscored"}
        assert here.run("compare").exit_code == 3


def test_f11_types_are_kept_apart(tmp_path: Path) -> None:
    close = {"tolerance": {"$.body": {"abs": 5}}}
    pairs: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "true-is-not-1": (True, 1, {}),
        "0-is-not-false": ([0], [False], {}),
        "nor-within-a-tolerance": ({"n": 1}, {"n": True}, close),
        "null-is-not-absent": ({"a": None}, {}, {}),
        "absent-is-not-null": ({}, {"a": None}, {}),
        "text-is-not-number": ({"a": 1}, {"a": "1"}, close),
        "keys-are-texts": ({"1": 1}, {"true": 1}, {}),
        "null-is-no-text": ({"a": "null"}, {"a": None}, {}),
        "empty-is-not-null": ([], None, {}),
        "list-is-not-object": ([], {}, {}),
        "deep-inside": ([[[{"a": [1]}]]], [[[{"a": [True]}]]], {}),
        "any-integer": ("<<any_integer>>", True, {}),
        "one-of": ("<<one_of(1)>>", True, {}),
        "exactly": ({"a": 1}, {"a": 1.0}, {"type": "exact"}),
    }
    outcomes = judged(tmp_path, pairs)
    assert outcomes == dict.fromkeys(pairs, "failed")


def test_f11_f52_what_is_no_json_number_never_loads(tmp_path: Path) -> None:
    words = ["NaN", "Infinity", "-Infinity", "1e999999", "-1e999999"]
    floor = {"tolerance": {"*": {"min_delta": 0}}}
    with world(tmp_path / "project") as here:
        for number, word in enumerate(words):
            here.baseline(f"a{number}", {"score": 0.8}, b'{"score": %s}' % word.encode(), floor)
        results = here.results()
        assert {(result["outcome"], result["code"]) for result in results.values()} == {("error", "BK307")}
        for number, word in enumerate([".nan", ".inf", "-.inf", "1e999999", "-1e999999"]):
            stated = (here.folder / f"baselines/a{number}.yaml").read_text()
            here.file(f"baselines/a{number}.yaml", stated.replace("0.8", word))
        ran = here.run("compare")
        assert ran.exit_code == 2
        assert len(re.findall(rb"BK106 baselines/a\d.yaml:2:\d+:", ran.err)) == len(words), ran.err


def test_f12_the_limit_of_a_tolerance_passes(tmp_path: Path) -> None:
    def falls(by: Any) -> dict[str, Any]:
        return {"type": "numeric", "tolerance": {"*": {"min_delta": by}}}

    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "pass-4.2": ([4.2], [3.9], falls(-0.3)),
        "pass-1.1": ([1.1], [0.8], falls(-0.3)),
        "fail-1.1": ([1.1], b"[0.7999999999999999]", falls(-0.3)),
        "pass-0.3": ([0.3], b"[0.30000000000000000000]", {"type": "numeric"}),
        "fail-0.3": ([0.3], b"[0.30000000000000004]", {"type": "numeric"}),
        "pass-abs": ([0.1], [0.3], {"tolerance": {"*": {"abs": 0.2}}}),
        "fail-abs": ([0.1], b"[0.30000000000000000001]", {"tolerance": {"*": {"abs": 0.2}}}),
        "pass-rel": ([0.07], [0.077], {"tolerance": {"*": {"rel": 0.1}}}),
        "pass-placeholder": ("<<number(1.1 ± 0.3)>>", 0.8, {}),
        "pass-cents": ([1e15], b"[1000000000000000.1]", {"tolerance": {"*": {"abs": 0.1}}}),
    }
    outcomes = judged(tmp_path, cases)
    assert outcomes == {id: "passed" if id.startswith("pass") else "failed" for id in cases}


def test_f52_numbers_of_any_size_are_compared_to_the_last_digit(tmp_path: Path) -> None:
    huge, digits = 10**400, "7" * 1_000
    within: dict[str, Any] = {"type": "numeric", "tolerance": {"*": {"abs": 2, "rel": 0.5}}}
    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "fail-huge": ([huge], [1.5], {}),
        "fail-huge-within": ([huge], [1.5], within),
        "fail-small-within": ([1.5], [huge], within),
        "pass-huge": ([huge], [huge], within),
        "fail-next-to-huge": ([huge], [huge + 1], {}),
        "pass-digits": (int(digits), digits.encode(), {}),
        "fail-digits": (int(digits), digits[:-1].encode() + b"8", {}),
        "fail-2-53": ([2**53], [2**53 + 1], {}),
        "fail-2-53-float": ([2**53 + 1], b"[9007199254740992.0]", {}),
        "fail-binary": ([10**23], b"[99999999999999991611392]", {}),
        "pass-written": ([10**23], b"[1e23]", {}),
        "fail-written": ([99999999999999991611392], b"[1e23]", {}),
        "pass-in-any-order": ([10**23, 1], b"[1, 1e23]", UNORDERED),
        "fail-in-any-order": ([99999999999999991611392, 1], b"[1, 1e23]", UNORDERED),
        "pass-beyond-a-float": ("<<any_number>>", b"1e400", {}),
        "fail-beyond-a-float": ([10**400], b"[1.0000000000000000001e400]", {}),
        "pass-minus-nothing": ([0], b"[-0.0]", {}),
    }
    outcomes = judged(tmp_path, cases)
    assert outcomes == {id: "passed" if id.startswith("pass") else "failed" for id in cases}


def test_f52_too_many_digits_are_an_error_on_either_side(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        here.baseline("answer", [1], b"[" + b"9" * 5_000 + b"]")
        results = here.results()
        assert (results["answer"]["outcome"], results["answer"]["code"]) == ("error", "BK307")
        here.write("file", '{"body": [%s]}' % ("9" * 5_000), {})
        ran = here.run("compare", "--id", "file")
        assert ran.exit_code == 2
        assert b"digits" in ran.said
        assert len(ran.said) < 1_000


SLOW = {"(a|aa)+$": "a" * 3_000, "(?:a?){900}a{900}": "a" * 3_000, "(.*?,){30}P": "1," * 30}


def test_f22_a_slow_expression_ends_alone(tmp_path: Path) -> None:
    """Its own baselines are errors; the hundred beside it have their verdicts, and the command its time."""
    config = "placeholders:\n  slow: '(a|aa)+$'\n  blanks: '.*\\s+$'\n"
    with world(tmp_path / "project") as here:
        here.file("baselinekit.yaml", f"version: 1\nbase_url: {here.url}\n{config}")
        for number, (pattern, text) in enumerate(SLOW.items()):
            here.baseline(f"slow-{number}", f"<<regex('{pattern}')>>", f"{text}!")
        here.baseline("slow-own", {"a": "<<slow>>"}, {"a": "a" * 40 + "!"})
        here.baseline("slow-blanks", "<<blanks>>", " " * 50_000 + "!")
        here.baseline("slow-anys", "<<any>>a<<any>>a<<any>>a<<any>>b", "a" * 5_000)
        for number in range(100):
            here.baseline(f"good-{number}", {"id": "<<regex('[a-z]+-\\d{3}')>>"}, {"id": "abc-123"})
        began = time.monotonic()
        results = here.results("-j", "4")
        assert time.monotonic() - began < 30
    slow = {id: (result["outcome"], result["code"]) for id, result in results.items() if "slow" in id}
    assert slow == dict.fromkeys(slow, ("error", "BK215"))
    assert {result["outcome"] for id, result in results.items() if "good" in id} == {"passed"}


def test_f22_many_that_are_just_quick_enough_do_not_add_up(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        rows = [{"n": n, "t": "a" * 20 + "!"} for n in range(3_000)]
        here.baseline("many", [{"n": "<<any>>", "t": "<<regex('(a+)+b|.*[!]')>>"}], rows)
        here.baseline("good", {"t": "<<regex('a+')>>"}, {"t": "aaa"})
        ran = here.run("compare", "--no-record")
        assert ran.exit_code in (0, 3)
        assert ran.cpu < 8
        assert here.outcomes("--id", "good") == {"good": "passed"}


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


def test_f54_a_path_that_could_run_away_is_refused(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        for number, path in enumerate(RUNAWAYS):
            here.baseline(f"p{number}", {"a": 1}, {"a": 1}, {"ignore_fields": [path]})
        assert here.run("doctor").cpu < 5
        ran = here.run("compare")
    assert ran.exit_code == 2
    assert re.findall(r"BK201 baselines/p(\d)", ran.err.decode()) == [str(n) for n in range(len(RUNAWAYS))]
    assert b"Traceback" not in ran.said
    assert len(ran.said) < 4_000


def test_f54_many_rules_on_a_deep_document(tmp_path: Path) -> None:
    deep: Json = {"a": 1}
    for _ in range(20):
        deep = {"a": deep, "b": [deep["a"] if isinstance(deep["a"], int) else 0] * 20, "c": {"a": 2}}
    paths = [".".join(["**", *"ab"[n % 2 :: 2], *(["**", "c"] * (n % 4)), f"k{n}"]) for n in range(300)]
    with world(tmp_path / "project") as here:
        here.baseline("a", deep, deep, {"ignore_fields": paths})
        ran = here.run("compare")
    assert ran.exit_code == 0
    assert ran.cpu < 10


def test_f55_answers_are_compared_whole_and_in_time(tmp_path: Path) -> None:
    with world(tmp_path / "project") as here:
        here.answers["/text"] = Answer(
            b"\n".join(b"line %d" % n for n in range(5_000)), headers=(("Content-Type", "text/plain"),)
        )
        here.write("text", {"body": "\n".join(f"Line {n}" for n in range(5_000))}, {})
        here.baseline("alike", ["xy"[n % 2] for n in range(4_000)], ["xy"[n % 3 > 0] for n in range(4_000)])
        here.baseline(
            "alike-text",
            "\n".join("xy"[n % 2] for n in range(4_000)),
            "\n".join("xy"[n % 3 > 0] for n in range(4_000)),
        )
        here.baseline("one-line", "x" * 500_000 + "a" + "x" * 500_000, "x" * 500_000 + "b" + "x" * 500_000)
        ran = here.run("compare", "-v", "-o", "r.json", "-o", "r.md", "-o", "r.junit.xml")
        assert ran.exit_code == 1
        assert ran.cpu < 15
        results = json.loads((here.folder / "r.json").read_text())["results"]
    assert {result["id"]: result["outcome"] for result in results} == dict.fromkeys(
        ["text", "alike", "alike-text", "one-line"], "failed"
    )
