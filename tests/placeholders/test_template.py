"""Placeholders in use: may be absent, may be null, bound to one value, and never for longer than a second."""

import threading
import time
from contextlib import suppress
from itertools import pairwise

import pytest

from baselinekit.errors import CannotReplay
from baselinekit.matching.walk import Templates
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Bindings
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.secrets.variables import Scope

WORDS = PlaceholderContext(scope=Scope({"n": 5}))


def template(text: str) -> Placeholder | Inline:
    compiled = compile_text(text, WORDS)
    assert not isinstance(compiled, str)
    return compiled


def test_is_optional_only_for_whole_value() -> None:
    texts = ("<<any?>>", "<<any>>", "x<<any?>>")
    assert [text for text in texts if Templates(WORDS).is_optional(text)] == ["<<any?>>"]


def test_nullable_placeholder_accepts_null() -> None:
    assert template("<<any_uuid|null>>").accepts(None, {})
    assert not template("<<any_uuid>>").accepts(None, {})
    assert not template("<<any_uuid?>>").accepts(None, {})
    assert not template("<<any_uuid|null>>").accepts("null", {})


@pytest.mark.parametrize(
    ("texts", "values", "accepted"),
    [
        (["<<any as k>>", "<<any as k>>"], [1, 1], True),
        (["<<any as k>>", "<<any as k>>"], [1, 1.0], True),
        (["<<any as k>>", "<<any as k>>"], [1, True], False),
        (["<<any as k>>", "<<any as k>>"], [1, "1"], False),
        (["<<any as k>>", "<<any as k>>"], [[1], [True]], False),
        (["<<any as k>>", "<<any as j>>"], [1, 2], True),
        (["<<any_integer as k>>", "/u/<<any_integer as k>>"], [5, "/u/5"], True),
        (["<<any_integer as k>>", "/u/<<any_integer as k>>"], [5, "/u/6"], False),
        (["<<any as k>>", "/u/<<any as k>>/x"], [5, "/u/5/x"], True),
        (["/u/<<any as k>>/x", "<<any as k>>"], ["/u/5/x", 5], True),
        (["/u/<<any as k>>/x", "<<any as k>>"], ["/u/5/x", "5"], True),
        (["/u/<<any as k>>/x", "<<any as k>>"], ["/u/5/x", "6"], False),
        (["/u/<<any as k>>/x", "<<any as k>>", "<<any as k>>"], ["/u/5/x", "5", 5], False),
        (["/u/<<any as k>>/x", "<<any as k>>", "<<any as k>>"], ["/u/5/x", 5, 5], True),
        (["<<any as k>>-<<any as k>>"], ["a-a"], True),
        (["<<any as k>>-<<any as k>>"], ["a-b"], False),
        (["<<any_uuid|null as k>>", "<<any as k>>"], [None, 7], False),
        (["<<any_uuid|null as k>>", "<<any as k>>"], [None, None], True),
        (["<<any_integer|null as k>>", "<<any_integer|null as k>>"], [1, None], False),
        (["<<any_integer|null as k>>", "<<any_integer|null as k>>"], [None, 1], False),
        (["<<any_integer|null as k>>", "<<any_integer|null as k>>"], [None, None], True),
        (["<<any_null as k>>", "<<any as k>>"], [None, 0], False),
        (["<<any_null as k>>", "<<any as k>>"], [None, False], False),
        (["n=<<any_integer|null as k>>", "<<any as k>>"], ["n=null", None], True),
        (["n=<<any_integer|null as k>>", "<<any as k>>"], ["n=null", 0], False),
        (["<<any as k>>", "n=<<any_integer|null as k>>"], [None, "n=null"], True),
        (["<<any as k>>", "n=<<any_integer|null as k>>"], [5, "n=null"], False),
        (["n=<<any_integer? as k>>", "<<any as k>>"], ["n=", 5], True),
        (["n=<<any_integer? as k>>", "<<any as k>>"], ["n=4", 5], False),
    ],
)
def test_binding_accepts_only_equal_values(texts: list[str], values: list[Json], accepted: bool) -> None:
    bindings: Bindings = {}
    results = [template(text).accepts(value, bindings) for text, value in zip(texts, values, strict=True)]
    assert all(results) is accepted


def test_binding_refused_value_binds_nothing() -> None:
    bindings: Bindings = {}
    assert not template("<<any_integer as k>>").accepts("x", bindings)
    assert bindings == {}


CATASTROPHES = [
    ("<<regex('(a|a)*b')>>", "a" * 60),
    ("<<regex('(a+)+$')>>", "a" * 5_000 + "b"),
    ("<<regex('(.*)*(.*)*(.*)*=x')>>", "=" * 5_000),
    ("x<<regex('(a|aa)+')>>y", "x" + "a" * 5_000 + "z"),
    ("<<any>>a<<any>>b<<any>>c<<any>>d", "abc" * 30_000),
    ("<<contains('aa')>><<contains('aa')>><<contains('aa')>>!", "a" * 20_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "value"), CATASTROPHES, ids=[text for text, _ in CATASTROPHES])
def test_slow_regex_ends_in_time_without_a_pass(text: str, value: str) -> None:
    """F22. The limit counts the processor's time, so that a busy machine makes no error of a pass."""
    compiled = template(text)
    began = time.process_time()
    with suppress(CannotReplay):
        assert not compiled.accepts(value, {})
    assert time.process_time() - began < 2.5


@pytest.mark.slow
def test_slow_regex_is_an_error_and_other_threads_continue() -> None:
    """F22: `re` would hold the interpreter's lock for hours here."""
    compiled = template("<<regex('(a|aa)+[xy]')>>")
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.01)

    other = threading.Thread(target=tick)
    other.start()
    try:
        with pytest.raises(CannotReplay, match=r"BK215 .* takes longer than 1 s"):
            compiled.accepts("a" * 5_000, {})
    finally:
        done.set()
        other.join()
    assert len(ticks) > 20
    assert max(after - before for before, after in pairwise(ticks)) < 0.8


def test_regex_long_pattern_or_text_is_refused() -> None:
    with pytest.raises(Exception, match="longer than 1000 characters"):
        compile_text(f"<<regex('{'a' * 1001}')>>", WORDS)
    with pytest.raises(CannotReplay, match="over the limit of 1,000,000"):
        template("<<regex('a*')>>").accepts("a" * 1_000_001, {})
