"""Raw values to dataclasses, with every error at once, in our own words, and at its place."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin

from baselinekit.documents.languages import Language, language
from baselinekit.documents.text import MAPPING, SEQUENCE, MarkedNode, Marks, mark_each, place
from baselinekit.errors import FirstOfEach, Problem
from baselinekit.model.values import Json, Path
from baselinekit.schema.complaints import validated

# The plain case: a raw value of just the types that a class states becomes an instance of it. Whatever else
# it may be is left to pydantic, which takes as long to load as hundreds of files take to be read.

Reader = Callable[[Json], Any]
T = TypeVar("T")
_SCALARS = (str, int, float, bool, NoneType)


class NotPlain(Exception):
    """Not wrong yet: it takes more to tell."""


@cache
def reader(kind: Any) -> Reader:
    """How a value of a type is read."""
    as_it_is, other = _ways(kind)
    return lambda value: value if value.__class__ in as_it_is else other(value)


@cache
def _ways(kind: Any) -> tuple[Collection[type], Reader]:
    """The classes whose values are right as they are, and how any other value is read. It is found by its
    class alone: where two members of a union could be meant, nothing is plain."""
    as_it_is: set[type] = set()
    others: dict[type, Reader] = {}
    for member in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if member is Any:
            return (), lambda value: value
        if member in _SCALARS:
            as_it_is.add(member)
        else:
            of, read = _structured(member)
            others[of] = _refuse if of in others else read
    return as_it_is, lambda value: others.get(value.__class__, _refuse)(value)


def _structured(kind: Any) -> tuple[type, Reader]:
    """The class of the raw value, and how it is read."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return dict, _of_class(kind)
    if origin is list:
        item = reader(inner[0])
        return list, lambda value: [item(each) for each in value]
    if origin is tuple:
        items = [reader(kind) for kind in inner if kind is not ...]
        return list, lambda value: _read_tuple(value, items, any_length=inner[-1] is ...)
    if origin in (dict, Mapping):
        item = reader(inner[1])
        if inner[0] is int:  # in a file every key is a text
            return dict, lambda value: {_number(key): item(each) for key, each in value.items()}
        return dict, lambda value: {key: item(each) for key, each in value.items()}
    if origin is Literal:
        return type(inner[0]), lambda value: value if value in inner else _refuse(value)
    assert origin is Annotated, kind
    return dict, lambda value: reader(inner[1].member(value) or _refuse(value))(value)


def _read_tuple(value: list[Json], items: list[Reader], any_length: bool) -> tuple[Any, ...]:
    if any_length:
        return tuple(map(items[0], value))
    if len(items) != len(value):
        raise NotPlain
    return tuple(read(each) for read, each in zip(items, value, strict=True))


def _number(key: str | int) -> int:
    return key if isinstance(key, int) else int(key) if key.lstrip("-").isdecimal() else _refuse(key)


def _of_class(kind: Any) -> Reader:
    known: dict[str, tuple[Collection[type], Reader]] = {}
    for field in fields(kind):
        of: Any = field.type
        known[field.name] = _ways(of)
    stated = [field for field in fields(kind) if field.default is field.default_factory is MISSING]
    required = {field.name for field in stated}

    def read(value: Json) -> Any:
        if not required <= value.keys() <= known.keys():
            raise NotPlain
        given = {}
        for name, item in value.items():
            as_it_is, other = known[name]
            given[name] = item if item.__class__ in as_it_is else other(item)
        return kind(**given)

    return read


def _refuse(value: Json) -> NoReturn:
    raise NotPlain


def check(cls: type[T], raw: Json) -> tuple[T | None, list[Problem]]:
    """The value as the class states it, or everything that is wrong with it, with paths instead of places."""
    kind: Any = cls
    try:
        return reader(kind)(raw), []
    except NotPlain:
        return validated(kind, raw)


# Where a problem stands: from a path into a document to file, line and column.


def below(problems: Sequence[Problem], at: Path) -> list[Problem]:
    """The same problems, of what stands at a path."""
    return [replace(problem, at=(*at, *(problem.at or ()))) for problem in problems]


def named_at(problem: Problem, at: Path) -> Problem:
    """What is wrong with a file, told where that file is named."""
    what = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return replace(problem, message=what, place=None, at=at)


def place_problems(
    body: str, file: str, problems: Mapping[int, Sequence[Problem]], written_in: Language | None = None
) -> list[Problem]:
    """Problems with paths into the documents of a text, by document, as problems with places: the first of
    them, and how many more there are. An unknown key is at the key itself."""
    first = FirstOfEach()
    told = {n: [problem for problem in few if first.takes(file, problem)] for n, few in problems.items()}
    ways = {n: [problem.at or () for problem in few] for n, few in told.items() if few}
    found = mark_each((written_in or language(file)).events(body), ways)
    placed: list[tuple[int, Problem]] = []
    for document, few in told.items():
        marks = found.get(document, Marks())
        for problem in few:
            nodes, rest = marks.reach(problem.at or ())
            index = position(nodes[-1], at_key=problem.code == "BK103" and not rest) if nodes else 0
            placed.append((index, replace(problem, place=place(file, body, index), at=None)))
    return [*(problem for _, problem in sorted(placed, key=lambda pair: pair[0])), *first.rest()]


def position(node: MarkedNode, at_key: bool = False) -> int:
    """Where to point: at a value on its line, at the key of what stands on the lines below it."""
    below = node.kind in (MAPPING, SEQUENCE) and node.style != "flow"
    return node.key if node.key >= 0 and (at_key or below) else node.start
