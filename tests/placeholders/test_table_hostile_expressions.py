"""Expressions that would fill the memory or run for ever, and built-in ones on hostile texts (F22)."""

import resource
import time

import pytest

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.placeholders.table import TABLE, PlaceholderContext, RegexBudget
from baselinekit.placeholders.template import Inline, Placeholder, compile_text


@pytest.mark.parametrize(
    "placeholder",
    [
        "<<regex('a{999999999}')>>", "<<regex('a{999999999,}')>>", "<<regex('((a{1000}){1000}){1000}')>>",
        "<<regex('(?:(?:a{99}){99}){99}')>>", "<<any_string(999999999)>> <<any_string>>", "<<regex('(?R)')>>",
        "<<regex('(a(?1)?)b')>>", "<<regex('(?P<n>a(?&n)?)b')>>", f"<<regex('{'a' * 1_001}')>>",
        f"<<regex('{'(' * 400}')>>", f"<<regex('{'(' * 450 + 'a' + ')' * 450}')>>", r"<<regex('\L<words>')>>",
        "<<regex('[')>>",
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_f22_regex_that_would_fill_memory_is_refused(placeholder: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    with pytest.raises(InvalidInput) as caught:
        compile_text(placeholder, PlaceholderContext())
    assert caught.value.problems[0].code == "BK214"
    assert time.process_time() - began < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


@pytest.mark.parametrize(
    "pattern", [r"\d{4}-\d{2}-\d{2}", "[0-9a-f]{64}", "(ab{2}){3}", r"[{3}]", r"\(?R+\)?", "a{,9}"]
)
def test_f22_regex_ordinary_repeats_are_accepted(pattern: str) -> None:
    compile_text(f"<<regex('{pattern}')>>", PlaceholderContext())


def test_f22_regex_budget_limits_sum_of_slow_matches() -> None:
    """A tenth of a second each: the second of the baseline is over after the tenth."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.05
        return now

    template = compile_text("<<regex('a+')>>", PlaceholderContext(regex_budget=RegexBudget(clock)))
    assert isinstance(template, Placeholder)
    for _ in range(15):
        assert template.accepts("aaa", {})
    with pytest.raises(CannotReplay) as caught:
        all(template.accepts("aaa", {}) for _ in range(15))
    assert caught.value.problems[0].code == "BK215"
    assert 0.9 < now < 2.5


ARGUMENTS = {"one_of": "(a, 'b c')", "regex": "('[a-z]+')", "number": "(1 ± 2)", "length": "(1, 100000)"}
ARGUMENTS |= dict.fromkeys(("contains", "starts_with", "ends_with"), "('a')")


@pytest.mark.parametrize("name", sorted({*sorted(TABLE)} - {"var"}))
def test_f22_built_in_placeholders_are_fast(name: str) -> None:
    template = compile_text(f"<<{name}{ARGUMENTS.get(name, '')}>>", PlaceholderContext())
    templates = [template]
    if name not in ("any_object", "any_array", "contains"):  # that one has the time limit inside a text
        templates.append(compile_text(f"x <<{name}{ARGUMENTS.get(name, '')}>>!", PlaceholderContext()))
    began = time.process_time()
    for unit in ("a", "1", "-", "a.", "1.", "1h", "T", "P1", ":", "=", "a@", " "):
        for text in (
            unit * 100_000,
            f"x {unit * 100_000}?",
            f"a@{unit * 100_000}",
            f"http://{unit * 100_000}",
        ):
            for each in templates:
                assert isinstance(each, Placeholder | Inline)
                each.accepts(text, {})
    assert time.process_time() - began < 2
