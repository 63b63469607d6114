"""Which baselines a run is about: by id, by tag, by an expression (`-k "users and not slow"`), by shard."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Protocol, TypeVar

from baselinekit.errors import InvalidInput, NothingSelected, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Variable
from baselinekit.model.results import Coverage, Result, Shard
from baselinekit.replaying.dispatch import digest
from baselinekit.workflow.project import Project

_WORD = lazy_pattern(r"\s*(?:(\(|\))|([^\s()]+))")
_NAMED = 8
_GLOB = frozenset("*?[")


class Selectable(Protocol):
    """A baseline, or its entry."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str | None: ...

    @property
    def tags(self) -> Sequence[str]: ...


Chosen = TypeVar("Chosen", bound=Selectable)
Test = Callable[[Selectable], bool]


@frozen
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

    @property
    def is_narrow(self) -> bool:
        """Whether something about each baseline decides whether it is run."""
        stated = self.ids or self.tags or self.exclude_tags or self.expression or self.shard
        return bool(stated) or self.among is not None

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


def select(baselines: Sequence[Chosen], wanted: Selection) -> list[Chosen]:
    """The chosen ones, in their order. Nothing chosen is an error: what cannot fail is no pass."""
    test = test_of(wanted)
    chosen = [baseline for baseline in baselines if test(baseline)]
    if not chosen:
        raise NothingSelected(Problem("BK509", *_nothing(baselines, wanted)))
    return chosen


def test_of(wanted: Selection) -> Test:
    """Whether a baseline is chosen, by itself: by its id, its name and its tags."""
    tests: list[Test] = []
    if wanted.ids:
        plain = frozenset(id for id in wanted.ids if _GLOB.isdisjoint(id))
        globs = [glob for glob in wanted.ids if glob not in plain]
        tests.append(
            (lambda one: one.id in plain or any(fnmatchcase(one.id, glob) for glob in globs))
            if globs
            else (lambda one: one.id in plain)
        )
    if wanted.tags:
        tests.append(lambda baseline: bool({*wanted.tags} & {*baseline.tags}))
    if wanted.exclude_tags:
        tests.append(lambda baseline: not {*wanted.exclude_tags} & {*baseline.tags})
    if wanted.expression:
        tests.append(expression(wanted.expression))
    if (among := wanted.among) is not None:
        tests.append(lambda baseline: baseline.id in among)
    if len(tests) == 1:  # of nearly all: a large project asks it of each baseline
        return tests[0]
    return lambda baseline: all(test(baseline) for test in tests)


class IsWanted:
    """Whether a baseline is chosen and belongs to the shard: a test that another process can be sent."""

    def __init__(self, selection: Selection):
        self._selection = selection
        self._test = test_of(selection)

    @property
    def test(self) -> Test:
        """The same at less cost for each of many."""
        return self if self._selection.shard else self._test

    def __call__(self, baseline: Selectable) -> bool:
        shard = self._selection.shard
        return self._test(baseline) and (shard is None or shard_of(baseline.id, shard.of) == shard.number)

    def __reduce__(self) -> tuple[type["IsWanted"], tuple[Selection]]:
        return IsWanted, (self._selection,)


def _nothing(baselines: Sequence[Selectable], wanted: Selection) -> tuple[str, str]:
    if not baselines:
        return "there are no baselines here", "capture one: baselinekit capture http GET URL"
    if wanted.among is not None and not wanted.among:
        return "nothing failed last time", "leave out --lf to compare everything"
    if wanted.among is not None and not any(baseline.id in wanted.among for baseline in baselines):
        return "what did not pass last time no longer exists", "leave out --lf to compare everything"
    if wanted.among is not None:
        return "none of those that did not pass last time is selected", "leave out --lf, or the other choices"
    of = f"none of the {len(baselines)} baselines is selected"
    ids = [baseline.id for baseline in baselines]
    tags = sorted({tag for baseline in baselines for tag in baseline.tags})
    if wanted.ids:
        return of, nearest(wanted.ids[0], ids) or f"the ids are {list_names(ids)}"
    if wanted.tags:
        hint = f"the tags are {list_names(tags)}" if tags else "none of them has a tag"
        return of, nearest(wanted.tags[0], tags) or hint
    if wanted.expression:
        return of, f"-k matches words of the id, the name or a tag; the ids are {list_names(ids)}"
    return of, "leave out --exclude-tag"


def list_names(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f", and {rest:,} more" if rest > 0 else "")


def expression(text: str) -> Test:
    """`and`, `or`, `not` and parentheses over words; a word is a part of the id, the name or a tag."""
    words = [match[1] or match[2] for match in _WORD.finditer(text) if match[1] or match[2]]
    test, rest = any_of(words, text)
    if rest:
        raise _unreadable(text, f"nothing can follow before {rest[0]!r}")
    return test


def any_of(words: list[str], text: str) -> tuple[Test, list[str]]:
    left, words = all_of(words, text)
    while words[:1] == ["or"]:
        right, words = all_of(words[1:], text)
        left = _either(left, right)
    return left, words


def all_of(words: list[str], text: str) -> tuple[Test, list[str]]:
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
        inner, rest = any_of(rest, text)
        if rest[:1] != [")"]:
            raise _unreadable(text, "a parenthesis is not closed")
        return inner, rest[1:]
    return _mentions(first.casefold()), rest


def _mentions(word: str) -> Test:
    def test(baseline: Selectable) -> bool:
        texts = (baseline.id, baseline.name or "", *baseline.tags)
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


# One run in parts, each on a machine of its own: which baseline belongs to which part, and where it
# would stand in the whole.


MOST = 10_000
_FORM = lazy_pattern(r"(\d{1,9})/(\d{1,9})")


def parse_shard(text: str) -> Shard:
    """`2/4`: the second of four."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidInput(Problem("BK508", f"--shard {text!r} is not NUMBER/OF", "as in --shard 2/4"))
    number, of = int(match[1]), int(match[2])
    if not 1 <= of <= MOST:
        raise InvalidInput(
            Problem("BK508", f"--shard {text}: from 1 to {MOST:,} shards", "as in --shard 2/4")
        )
    if not 1 <= number <= of:
        message = f"--shard {text}: the shards of {of} are {f'1/{of} to {of}/{of}' if of > 1 else '1/1'}"
        raise InvalidInput(Problem("BK508", message, "they are counted from 1"))
    return Shard(number, of)


def shard_of(id: str, of: int) -> int:
    """The shard of a baseline: by its id alone, on every machine and in every version the same."""
    return int.from_bytes(sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % of + 1


def stamp_shard(shard: Shard, project: Project, chosen: Sequence[Entry], strict_rules: bool) -> Shard:
    """The shard with what all shards of a run have in common, so that `merge` can tell that they do. What a
    file records of its runs does not count, and neither does a variable that each machine's environment
    sets: that may well be the number of a job."""
    config = project.config
    declared = [*config.variables.items()]
    if project.environment is not None:
        declared += config.environments[project.environment].variables.items()
    from_env = {name for name, stated in declared if isinstance(stated, Variable) and stated.from_env}
    values = {name: value for name, value in project.scope.values.items() if name not in from_env}
    stated = replace(config, variables={}, environments={})
    named = {name: [model, project.models[name]] for name, model in config.models.items()}
    asked = project.override_base_url or project.base_url
    environment = f"environment {project.environment}" if project.environment else ""
    target = ", ".join(filter(None, (project.redactor.mask(str(asked)) if asked else "", environment)))
    return replace(
        shard,
        target=target or "as the files say",
        configuration=digest([stated, values, named, strict_rules]),
        content=digest([[one.id, one.content] for one in sorted(chosen, key=lambda one: one.id)]),
    )


class Share:
    """What of all that was selected is to be run here, and its place in the whole. Without a shard: all."""

    def __init__(self, chosen: Sequence[Entry], shard: Shard | None):
        numbered = list(enumerate(chosen))
        if shard is not None:
            numbered = [(n, one) for n, one in numbered if shard_of(one.id, shard.of) == shard.number]
        self.entries = [entry for _, entry in numbered]
        self.shard = None if shard is None else replace(shard, total=len(chosen))
        self._positions = [number for number, _ in numbered]

    def placed(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """The results, each with its position where this is not the whole."""
        if self.shard is None:
            return tuple(results)
        return tuple(replace(one, position=n) for one, n in zip(results, self._positions, strict=True))
