"""The criteria of a rubric, read from a text.

A text states them as a numbered list, a table, headings, bullets or lines with a weight each. The first form
that states weights is read; if none does, the numbered list. A text that looks like a weight but was not read
is a problem: a lost weight changes verdicts, and nobody sees it."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from baselinekit.errors import Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Number
from baselinekit.structs import Struct
from baselinekit.values.texts import mask_and_clip, no_mask

_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_WORD = r"(?:weight(?:ing|age)?|wt\.?)"
_UNIT = r"%|per[ ]?cent|points?|pts?\.?"
_WEIGHTS = (
    # (40%), (weight 0.4), [weight: 0.6], (weight=2), (w: 3), (40% weight), (worth 40%), (20 points)
    rf"[(\[{{]\s*(?:{_WORD}|w|worth)\s*(?:[:=]|of|is)?\s*(?P<n1>{_NUMBER})\s*(?P<u1>{_UNIT})?\s*[)\]}}]",
    rf"[(\[{{]\s*(?P<n2>{_NUMBER})\s*(?P<u2>{_UNIT})\s*(?:{_WORD}|of\s+(?:the\s+)?(?:total|score|grade))?\s*[)\]}}]",
    rf"[(\[{{]\s*(?P<n3>{_NUMBER})\s*(?P<u3>){_WORD}\s*[)\]}}]",
    rf"[(\[{{]\s*(?:[x×]\s*(?P<n4>{_NUMBER})|(?P<n5>{_NUMBER})\s*[x×])(?P<u4>)(?P<u5>)\s*[)\]}}]",
    # weight: 0.4
    rf"(?:[,;|–—-]\s*)?\b{_WORD}\s*[:=]?\s*(?P<n6>{_NUMBER})\s*(?P<u6>%)?(?![\w.%/]|,\d)",
    # Accuracy — 40 %; 40% Accuracy
    rf"[:,|–—-]\s*\**\s*(?P<n7>{_NUMBER})\s*(?P<u7>%|per[ ]?cent)(?=\s*\**\s*(?:[:.,;|)]|[–—-]\s|$))",
    rf"^\s*\**\s*(?P<n8>{_NUMBER})\s*(?P<u8>%)\s*(?:[:–—-])?(?!\s*of\b)",
)
_WEIGHT = lazy_pattern("|".join(f"(?:{pattern})" for pattern in _WEIGHTS), re.IGNORECASE)
_LONGEST_SHOWN = 60
_WEIGHT_LIKE = lazy_pattern(
    rf"[(\[{{][ \t]*(?:[\w.,]{{1,20}}[ \t]+)?{_WORD}\b[^)\]}}\n]{{0,80}}[)\]}}]"
    rf"|\b{_WORD}s?[ \t]*[:=][ \t]*\S+"
    r"|[(\[{][ \t]*[\d.,]+[ \t]*(?:%|per[ ]?cent)(?=[ \t]*[,;)\]}])[^)\]}\n]{0,80}[)\]}]?"
    # Accuracy (0.6), Accuracy [60/100]: right?
    r"|[(\[{][ \t]*(?:0?\.\d+|\d+[ \t]*/[ \t]*100)[ \t]*[)\]}](?=[ \t]*\**[ \t]*(?::|$))",
    re.IGNORECASE,
)
_RANGE = lazy_pattern(
    r"\([ \t]*(?P<low>-?\d+(?:\.\d+)?)[ \t]*(?:-|–|to)[ \t]*(?P<high>\d+(?:\.\d+)?)[ \t]*\)"
)
_MARK = lazy_pattern(
    r"(?P<indent>[ \t]*)(?:(?P<head>#{1,6})[ \t]+)?(?:(?P<number>\d+)[.)][ \t]+|(?P<bullet>[-*+•])[ \t]+)?"
    r"(?P<line>\S.*)"
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
_LONGEST_NAME = 60
_KINDS = ("numbered heading", "number", "table", "heading", "bullet", "line")


class Criterion(Struct):
    """One criterion of a rubric. Weights are relative to each other; a `required` criterion must be met."""

    name: str
    description: str = ""
    weight: Number = 1
    range: list[Number] | None = None
    required: bool = False


class _Item(Struct):
    """A line that may state a criterion. `weights`: the weights in it, each with its unit."""

    kind: str
    row: int
    indent: int
    number: int
    name: str
    weights: tuple[tuple[float, str], ...]
    range: tuple[float, float] | None


class RubricText(Struct):
    """The criteria of a text, and their problems."""

    criteria: tuple[Criterion, ...]
    problems: tuple[Problem, ...]


@lru_cache(maxsize=256)
def read(text: str) -> RubricText:
    """The criteria of a text. They are kept, because each reply of a judge needs those of the same text."""
    lines = text.splitlines()
    candidates = _table(lines)
    for row, line in enumerate(lines):
        mark = _MARK.fullmatch(line)
        if mark is None or line.lstrip().startswith("|"):
            continue
        kind = "number" if mark["number"] else "bullet" if mark["bullet"] else "line"
        kind = {"number": "numbered heading", "line": "heading"}.get(kind, kind) if mark["head"] else kind
        indent = len(mark["indent"].expandtabs(4))
        candidates.append(_item(kind, row, mark["line"], indent, int(mark["number"] or 0)))
    items = _select_items(candidates)
    read_rows = {item.row for item in items}
    items, weight_rows = attach_weights_below(items, lines)
    problems = [*_unread_weights(lines, read_rows | weight_rows), *_weight_problems(items)]
    weighted = any(item.weights for item in items)
    if not weighted and (not all(map(is_named, items)) or _repeated(items)):
        return RubricText((), tuple(problems))  # numbered lines that are no criteria
    criteria = tuple(
        Criterion(
            _key(item.name),
            weight=_amount(item.weights[0]) if item.weights else 1,
            range=list(item.range) if item.range else None,
        )
        for item in items
    )
    return RubricText(criteria, tuple(problems))


def _item(kind: str, row: int, line: str, indent: int = 0, number: int = 0) -> _Item:
    weights = []
    for groups in (match.groupdict() for match in _WEIGHT.finditer(line)):
        group = next(number for number in range(1, 9) if groups[f"n{number}"] is not None)
        unit = (groups[f"u{group}"] or "").lower()
        weights.append((float(groups[f"n{group}"]), "%" if unit.startswith(("%", "per")) else ""))
    range_match = _RANGE.search(line)
    remaining = _RANGE.sub(" ", _WEIGHT.sub(" \0 ", line))
    bold = _BOLD.match(remaining.replace("\0", " "))
    remaining = remaining.strip(" \0\t").partition("\0")[0]
    name_text = remaining[: end.start()] if (end := _NAME_ENDS.search(remaining)) else remaining
    name = (bold["name"] if bold else name_text).strip(" \t*_:.,;-–—`")
    bounds = (float(range_match["low"]), float(range_match["high"])) if range_match else None
    return _Item(kind, row, indent, number, name, tuple(weights), bounds)


def _amount(weight: tuple[float, str]) -> float:
    return weight[0] / 100 if weight[1] == "%" else weight[0]


def _table(lines: Sequence[str]) -> list[_Item]:
    """The rows of a table: the first cell is the name, the weight is in its column or has a per-cent sign."""
    items, header = [], None
    for row, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or len(cells) < 2:
            header = None
            continue
        if header is None or all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            header = header or [cell.lower().strip("* ") for cell in cells]
            continue
        column = next((n for n, name in enumerate(header) if re.match(rf"{_WORD}|%|points", name)), None)
        amount_text = cells[column] if column is not None and column < len(cells) else ""
        if column is None:
            amount_text = next((cell for cell in cells[1:] if re.fullmatch(r"[\d.]+\s*%", cell)), "")
        if column is not None and "%" in header[column] and re.fullmatch(_NUMBER, amount_text):
            amount_text += "%"
        name = next(cell for cell in cells if not re.fullmatch(r"\d*", cell)) if any(cells) else ""
        amount = re.fullmatch(rf"\**\s*(?P<n>{_NUMBER})\s*(?P<u>{_UNIT})?\s*\**", amount_text)
        item_text = f"{name} (weight: {amount['n']}{'%' if amount['u'] == '%' else ''})" if amount else name
        if re.match(r"\W*(?:total|sum)\b", name, re.IGNORECASE) or (amount_text and not amount):
            continue  # reported as unread, if it looks like a weight
        items.append(_item("table", row, item_text))
    return items if any(item.weights for item in items) else []


def _select_items(items: Sequence[_Item]) -> list[_Item]:
    """The items of the first form that states weights; if none does, the numbered ones. Items of a scale, and
    items that are indented further than the others, are no criteria."""
    by_kind = {kind: _outermost([item for item in items if item.kind == kind]) for kind in _KINDS}
    for kind in ("bullet", "line"):  # a weight on a line of its own belongs to what stands above it
        by_kind[kind] = [item for item in by_kind[kind] if _key(item.name)]
    by_kind["number"] = _outermost([item for group in _groups(by_kind["number"]) for item in group])
    for kind in _KINDS:
        kind_items = by_kind[kind]
        if any(item.weights for item in kind_items):
            if kind in ("heading", "line"):
                return [item for item in kind_items if item.weights]
            if kind == "bullet":  # bullets before the first weight or after the last one are remarks
                places = [place for place, item in enumerate(kind_items) if item.weights]
                return kind_items[places[0] : places[-1] + 1]
            return kind_items
    return by_kind["numbered heading"] or by_kind["number"]


def _outermost(items: Sequence[_Item]) -> list[_Item]:
    depth = min((item.indent for item in items), default=0)
    return [item for item in items if item.indent <= depth + 1]


def _groups(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """The numbered lists that are no scale."""
    groups: list[list[_Item]] = []
    for item in items:
        last = groups[-1] if groups else []
        step = item.number - last[-1].number if last else 0
        is_same_direction = len(last) < 2 or step == last[1].number - last[0].number
        if last and step in (1, -1) and is_same_direction:
            last.append(item)
        else:
            groups.append([item])
    for group in groups:
        is_descending = len(group) > 1 and group[1].number < group[0].number
        scale_words = sum(_SCALE_WORDS.match(item.name) is not None for item in group)
        if any(item.weights for item in group) or not (
            is_descending or (len(group) > 1 and scale_words * 2 > len(group))
        ):
            yield group


def attach_weights_below(items: Sequence[_Item], lines: Sequence[str]) -> tuple[list[_Item], set[int]]:
    """The items, each with the weight that stands on a line of its own below it; and the rows of those
    lines."""
    completed, weight_rows = [], set()
    for number, item in enumerate(items):
        end = items[number + 1].row if number + 1 < len(items) else len(lines)
        for row in range(item.row + 1, end if not item.weights and item.kind != "line" else 0):
            text = lines[row].strip(" \t-*+•()[]_.")
            match = re.fullmatch(rf"{_WORD}\W*(?P<n>{_NUMBER})\s*(?P<u>%)?", text, re.IGNORECASE)
            if match:
                weight = (float(match["n"]), match["u"] or "")
                item = _Item(item.kind, item.row, item.indent, item.number, item.name, (weight,), item.range)
                weight_rows.add(row)
                break
        completed.append(item)
    return completed, weight_rows


def is_named(item: _Item) -> bool:
    return bool(_key(item.name)) and len(item.name) <= _LONGEST_NAME


def _repeated(items: Sequence[_Item]) -> str:
    names = [_key(item.name) for item in items]
    return next((name for name in names if names.count(name) > 1), "")


def _unread_weights(lines: Sequence[str], read_rows: set[int]) -> Iterator[Problem]:
    """The problems of texts that look like a weight but were not read."""
    for row, line in enumerate(lines):
        unread_text = _WEIGHT.sub(" ", line) if row in read_rows else line
        for match in _WEIGHT_LIKE.finditer(unread_text):
            quoted = mask_and_clip(match[0].strip(), _LONGEST_SHOWN, no_mask, counted=False)
            message = f"line {row + 1} of the rubric: {quoted!r} looks like a weight but could not be read"
            hint = "write it after the name of its criterion: 1. Accuracy (weight: 0.6)"
            yield Problem("BK702", message, hint)
    rows = [row for row, line in enumerate(lines) if line.lstrip().startswith("|")]
    if (
        rows
        and not any(row in read_rows for row in rows)
        and re.search(rf"\b{_WORD}\b|%", lines[rows[0]], re.I)
    ):
        message = (
            f"line {rows[0] + 1} of the rubric: a table with a column of weights, none of which could be read"
        )
        yield Problem("BK702", message, "a number in each row: | Accuracy | 40% |")


def _weight_problems(items: Sequence[_Item]) -> Iterator[Problem]:
    """The problems of criteria that have weights."""
    if not any(item.weights for item in items):
        return
    for item in items:
        prefix = f"line {item.row + 1} of the rubric: "
        if not is_named(item):
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
