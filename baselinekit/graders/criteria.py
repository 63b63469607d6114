"""The criteria of a rubric, read from a text.

A text states them as a numbered list, and their weights as `(weight: 0.4)` or `(40%)` in its lines. Whatever
else looks like a weight is a problem: a lost weight changes verdicts without anyone seeing it."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from baselinekit.errors import Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Number
from baselinekit.structs import NotNegative, Struct
from baselinekit.values.texts import mask_and_clip, no_mask

_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_LINE = lazy_pattern(r"(?P<indent>[ \t]*)(?P<number>\d+)[.)][ \t]+(?P<text>\S.*)")
_WEIGHT = lazy_pattern(
    rf"\(weight:\s*(?P<weight>{_NUMBER})\)|\((?:weight:\s*)?(?P<percent>{_NUMBER})\s*%\)", re.IGNORECASE
)
_RANGE = lazy_pattern(
    r"\([ \t]*(?P<low>-?\d+(?:\.\d+)?)[ \t]*(?:-|–|to)[ \t]*(?P<high>\d+(?:\.\d+)?)[ \t]*\)"
)
_BOLD = lazy_pattern(r"\s*(?:\*\*|__)(?P<name>[^*_]+?):?(?:\*\*|__)")
_NAME_ENDS = lazy_pattern(r"[:(|]|\s[-–—]+(?:\s|$)|[,;]\s*$")
_SCALE_WORDS = lazy_pattern(
    r"\W*(?:(?:very|quite|mostly|completely|totally|fully|partly|partially|barely|somewhat|not|below|above|strongly)\s+)*"
    r"(?:poor|fair|good|excellent|bad|terrible|awful|average|outstanding|perfect|great|weak|strong|unacceptable|"
    r"acceptable|inadequate|adequate|unsatisfactory|satisfactory|wrong|incorrect|correct|right|fails?|useless|"
    r"mediocre|decent|exceptional|agree|disagree|neutral|incoherent|unusable|none|low|medium|high|worst|best)\b",
    re.IGNORECASE,
)

_WORD = r"(?:weight(?:ing|age)?|wt\.?)"
_UNIT = r"(?:%|per[ ]?cent|points?|pts?\.?)"
_LOOKS_LIKE_WEIGHT = lazy_pattern(
    "|".join(
        (
            # [weight: 0.4], (high weight), (40% weight), (worth 40%), (w: 3)
            rf"[(\[{{]\s*(?:[\w.,%]{{1,20}}\s+)?(?:{_WORD}|worth|w(?=\s*[:=]))(?!\w)[^)\]}}\n]{{0,80}}[)\]}}]",
            # [40%], (20 points), (40% of the total), (60%, 0-5)
            rf"[(\[{{]\s*[\d.,]+\s*{_UNIT}\s*(?:of\s+(?:the\s+)?(?:total|score|grade)\s*)?"
            r"(?=[,;)\]}])[^)\]}\n]{0,80}[)\]}]?",
            # (x3), (3x)
            rf"[(\[{{]\s*(?:[x×]\s*(?:{_NUMBER})|(?:{_NUMBER})\s*[x×])\s*[)\]}}]",
            # Accuracy (0.6), Accuracy [60/100]: right?
            r"[(\[{]\s*(?:0?\.\d+|\d+\s*/\s*100)\s*[)\]}](?=\s*\**\s*(?::|$))",
            # weight: high, weight 0.4
            rf"\b{_WORD}s?\s*[:=]\s*\S+|\b{_WORD}\s+(?:{_NUMBER})(?![\w/])",
            # Accuracy — 40 %, | 40% |
            rf"[:,|–—-]\s*\**\s*(?:{_NUMBER})\s*(?:%|per[ ]?cent)(?=\s*\**\s*(?:[:.,;|)]|[–—-]\s|$))",
            # 40% Accuracy
            rf"^\s*(?:#+\s+)?(?:(?:\d+[.)]|[-*+•])\s+)?\**(?:{_NUMBER})\s*%(?!\s*of\b)",
            # a table with a column of weights
            rf"^\s*\|[^\n]*\b{_WORD}\b[^\n]*",
        )
    ),
    re.IGNORECASE,
)
_LONGEST_SHOWN = 60
_LONGEST_NAME = 60


class Criterion(Struct):
    """One criterion of a rubric. Weights are relative to each other; a `required` criterion must be met."""

    name: str
    description: str = ""
    weight: NotNegative = 1
    range: list[Number] | None = None
    required: bool = False


class _Item(Struct):
    """A numbered line. `weights`: the weights in it, each with its unit: "%" or ""."""

    row: int
    indent: int
    number: int
    name: str
    weights: tuple[tuple[float, str], ...]
    range: list[Number] | None


class RubricText(Struct):
    """The criteria of a text, and their problems."""

    criteria: tuple[Criterion, ...]
    problems: tuple[Problem, ...]


@lru_cache(maxsize=256)
def read(text: str) -> RubricText:
    """The criteria of a text. They are kept, because each reply of a judge needs those of the same text."""
    lines = text.splitlines()
    numbered = [_item(row, match) for row, line in enumerate(lines) if (match := _LINE.fullmatch(line))]
    depth = min((item.indent for item in numbered), default=0)
    outermost = [item for item in numbered if item.indent <= depth + 1]
    items = [item for group in _groups(outermost) if not _is_scale(group) for item in group]
    problems = [*_unread_weights(lines, {item.row for item in items}), *_weight_problems(items)]
    weighted = any(item.weights for item in items)
    if not weighted and (not all(map(_is_named, items)) or _repeated(items)):
        return RubricText((), tuple(problems))  # numbered lines that are no criteria
    criteria = tuple(
        Criterion(_key(item.name), weight=_amount(item.weights[0]) if item.weights else 1, range=item.range)
        for item in items
    )
    return RubricText(criteria, tuple(problems))


def _item(row: int, line: re.Match[str]) -> _Item:
    text = line["text"]
    weights = [
        (float(match["percent"]), "%") if match["percent"] else (float(match["weight"]), "")
        for match in _WEIGHT.finditer(text)
    ]
    bounds = _RANGE.search(text)
    # The name ends where a weight or a range begins, as at a colon.
    remaining = _RANGE.sub(":", _WEIGHT.sub(":", text))
    bold = _BOLD.match(remaining)
    name = bold["name"] if bold else _NAME_ENDS.split(remaining, 1)[0]
    return _Item(
        row,
        len(line["indent"].expandtabs(4)),
        int(line["number"]),
        name.strip(" \t*_:.,;-–—`"),
        tuple(weights),
        [float(bounds["low"]), float(bounds["high"])] if bounds else None,
    )


def _amount(weight: tuple[float, str]) -> float:
    return weight[0] / 100 if weight[1] == "%" else weight[0]


def _groups(items: Sequence[_Item]) -> list[list[_Item]]:
    """The lists that the numbers make, counting up or down."""
    groups: list[list[_Item]] = []
    for item in items:
        last = groups[-1] if groups else []
        step = item.number - last[-1].number if last else 0
        is_same_direction = len(last) < 2 or step == last[1].number - last[0].number
        if last and step in (1, -1) and is_same_direction:
            last.append(item)
        else:
            groups.append([item])
    return groups


def _is_scale(group: Sequence[_Item]) -> bool:
    """Whether a numbered list without weights says what scores mean: it counts down, or such words make
    it up."""
    if len(group) < 2 or any(item.weights for item in group):
        return False
    scale_words = sum(_SCALE_WORDS.match(item.name) is not None for item in group)
    return group[1].number < group[0].number or scale_words * 2 > len(group)


def _is_named(item: _Item) -> bool:
    return bool(_key(item.name)) and len(item.name) <= _LONGEST_NAME


def _repeated(items: Sequence[_Item]) -> str:
    names = [_key(item.name) for item in items]
    return next((name for name in names if names.count(name) > 1), "")


def _unread_weights(lines: Sequence[str], read_rows: set[int]) -> Iterator[Problem]:
    """The problems of texts that look like a weight but were not read."""
    for row, line in enumerate(lines):
        for match in _LOOKS_LIKE_WEIGHT.finditer(_WEIGHT.sub("", line) if row in read_rows else line):
            quoted = mask_and_clip(match[0].strip(), _LONGEST_SHOWN, no_mask, counted=False)
            message = f"line {row + 1} of the rubric: {quoted!r} looks like a weight but could not be read"
            hint = "write it after the name of its criterion: 1. Accuracy (weight: 0.6)"
            yield Problem("BK702", message, hint)


def _weight_problems(items: Sequence[_Item]) -> Iterator[Problem]:
    """The problems of criteria that have weights."""
    if not any(item.weights for item in items):
        return
    for item in items:
        prefix = f"line {item.row + 1} of the rubric: "
        if not _is_named(item):
            hint = f"a name of at most {_LONGEST_NAME} characters before the weight, then a colon"
            yield Problem("BK702", f"{prefix}a weight without the name of a criterion", hint)
        if not item.weights:
            hint = "give each criterion a weight, or none of them"
            yield Problem("BK702", f"{prefix}{item.name} has no weight, but others do", hint)
        if len({_amount(weight) for weight in item.weights}) > 1:
            yield Problem("BK702", f"{prefix}{item.name} has more than one weight", "state one")
    if repeated := _repeated(items):
        yield Problem("BK702", f"two criteria are called {repeated}", "give each a name of its own")
    units = {weight[1] for item in items for weight in item.weights[:1]}
    total = sum(item.weights[0][0] for item in items if item.weights)
    if len(units) > 1:
        yield Problem("BK702", "some weights are percentages and others are not", "write all in one way")
    elif units == {"%"} and abs(total - 100) > 1:
        hint = "let them add up to 100 %, or leave the sign out: (weight: 2) is relative"
        yield Problem("BK702", f"the weights make {total:g} %", hint)


def _key(name: str) -> str:
    """The name as a JSON key that a judge can repeat."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")
