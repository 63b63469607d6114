"""Which baselines a run is about: by id, by tag, by an expression (`-k "users and not slow"`)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from baselinekit.errors import InvalidInput, NothingSelected, Problem, nearest
from baselinekit.model.baselines import Baseline
from baselinekit.model.results import Coverage, Shard

_WORD = re.compile(r"\s*(?:(\(|\))|([^\s()]+))")
_NAMED = 8
Test = Callable[[Baseline], bool]


@dataclass(frozen=True, slots=True)
class Selection:
    ids: Sequence[str] = ()
    tags: Sequence[str] = ()
    exclude_tags: Sequence[str] = ()
    expression: str | None = None
    among: frozenset[str] | None = None
    """Only these ids: those that failed last."""
    first: frozenset[str] = frozenset()
    """These ids before the others."""
    shard: Shard | None = None
    since: str | None = None
    """Only what a change touches since this commit."""

    def in_turn(self, ids: Sequence[str]) -> list[int]:
        """In which order they are run."""
        return sorted(range(len(ids)), key=lambda number: ids[number] not in self.first)

    def coverage(self, paths: Sequence[str], left_out: int) -> Coverage:
        """What a run was narrowed to, as the result file states it."""
        stated = {
            "paths": list(paths),
            "ids": list(self.ids),
            "tags": list(self.tags),
            "exclude_tags": list(self.exclude_tags),
            "expression": self.expression,
            "last_failed": self.among is not None,
            "changed_since": self.since,
        }
        return Coverage({name: value for name, value in stated.items() if value}, left_out)


def select(baselines: Sequence[Baseline], wanted: Selection) -> list[Baseline]:
    """The chosen ones, in their order. Nothing chosen is an error: what cannot fail is no pass."""
    tests: list[Test] = []
    if wanted.ids:
        tests.append(lambda baseline: any(fnmatchcase(baseline.id, glob) for glob in wanted.ids))
    if wanted.tags:
        tests.append(lambda baseline: bool({*wanted.tags} & {*baseline.metadata.tags}))
    if wanted.exclude_tags:
        tests.append(lambda baseline: not {*wanted.exclude_tags} & {*baseline.metadata.tags})
    if wanted.expression:
        tests.append(expression(wanted.expression))
    if (among := wanted.among) is not None:
        tests.append(lambda baseline: baseline.id in among)
    chosen = [baseline for baseline in baselines if all(test(baseline) for test in tests)]
    if not chosen:
        raise NothingSelected(Problem("BK509", *_nothing(baselines, wanted)))
    return chosen


def _nothing(baselines: Sequence[Baseline], wanted: Selection) -> tuple[str, str]:
    if not baselines:
        return "there are no baselines here", "capture one: baselinekit capture http GET URL"
    if wanted.among is not None and not wanted.among:
        return "nothing failed last time", "leave out --lf to compare everything"
    if wanted.among is not None and not any(baseline.id in wanted.among for baseline in baselines):
        return "what did not pass last time is not here any more", "leave out --lf to compare everything"
    if wanted.among is not None:
        return "none of those that did not pass last time is selected", "leave out --lf, or the other choices"
    of = f"none of the {len(baselines)} baselines is selected"
    ids = [baseline.id for baseline in baselines]
    tags = sorted({tag for baseline in baselines for tag in baseline.metadata.tags})
    if wanted.ids:
        return of, nearest(wanted.ids[0], ids) or f"the ids are {few(ids)}"
    if wanted.tags:
        mend = f"the tags are {few(tags)}" if tags else "none of them has a tag"
        return of, nearest(wanted.tags[0], tags) or mend
    if wanted.expression:
        return of, f"-k takes words of the id, the name or a tag; the ids are {few(ids)}"
    return of, "leave out --exclude-tag"


def few(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f", and {rest:,} more" if rest > 0 else "")


def expression(text: str) -> Test:
    """`and`, `or`, `not` and parentheses over words; a word is a part of the id, the name or a tag."""
    words = [match[1] or match[2] for match in _WORD.finditer(text) if match[1] or match[2]]
    test, rest = _any_of(words, text)
    if rest:
        raise _unreadable(text, f"nothing can follow before {rest[0]!r}")
    return test


def _any_of(words: list[str], text: str) -> tuple[Test, list[str]]:
    left, words = _all_of(words, text)
    while words[:1] == ["or"]:
        right, words = _all_of(words[1:], text)
        left = _either(left, right)
    return left, words


def _all_of(words: list[str], text: str) -> tuple[Test, list[str]]:
    left, words = _one(words, text)
    while words[:1] == ["and"]:
        right, words = _one(words[1:], text)
        left = _both(left, right)
    return left, words


def _one(words: list[str], text: str) -> tuple[Test, list[str]]:
    if not words or words[0] in ("and", "or", ")"):
        raise _unreadable(text, "a word is missing")
    first, rest = words[0], words[1:]
    if first == "not":
        inner, rest = _one(rest, text)
        return (lambda baseline: not inner(baseline)), rest
    if first == "(":
        inner, rest = _any_of(rest, text)
        if rest[:1] != [")"]:
            raise _unreadable(text, "a parenthesis is not closed")
        return inner, rest[1:]
    return _mentions(first.casefold()), rest


def _mentions(word: str) -> Test:
    def test(baseline: Baseline) -> bool:
        texts = (baseline.id, baseline.name or "", *baseline.metadata.tags)
        return any(word in text.casefold() for text in texts)

    return test


def _either(left: Test, right: Test) -> Test:
    return lambda baseline: left(baseline) or right(baseline)


def _both(left: Test, right: Test) -> Test:
    return lambda baseline: left(baseline) and right(baseline)


def _unreadable(text: str, why: str) -> InvalidInput:
    return InvalidInput(
        Problem("BK507", f"the expression {text!r} cannot be read: {why}", 'as in "users and not slow"')
    )
