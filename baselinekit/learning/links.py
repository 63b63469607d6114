"""Gives one binding to a value that occurs at several places: the id that a flow saves and that later answers
repeat, the id of an order and the link to it. `<<any_uuid as order_id>>` is the same value everywhere, so an
answer that mixes up two of them is reported.

Values that are equal by chance are left alone: small numbers, moments, words. The error rate is measured in
tests/learning/test_linking.py."""

import re
from collections.abc import Iterator, Mapping, Sequence

from baselinekit.lazy import lazy_pattern
from baselinekit.learning.varying import ReplayView, Volatile
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.narrowest import PlaceholderProposal, narrowest
from baselinekit.placeholders.nature import looks_like_id, moment_of
from baselinekit.structs import Struct, replace
from baselinekit.values.places import name_of, places, value_at, value_or_absent

Vector = tuple[Json, ...]
"""The values at a place, one for each replay."""

Places = tuple[Path, ...]

_ID_KEY = lazy_pattern(
    r"(?:^|[_.-])(?i:id|uid|uuid|guid|oid|key|token|session|sid|ref|reference|number|no|etag|rev|revision|slug)$"
    r"|(?<=[a-z0-9])(?:Id|ID|Uid|Uuid|UUID|Guid|Key|Token|Ref|Number|No|Slug)$"
)
_PLAIN_ID = lazy_pattern(r"[A-Za-z0-9_.:~+=-]{1,200}")
_FEWEST_DIGITS = 4
"""A number with fewer digits may equal another one by chance."""

_LONG = 8
_MARK = lazy_pattern("\0([0-9]+)\0")
_LAST_KEY = lazy_pattern(r"[^.\[\]\"']+(?=[\]\"']*$)")
_URL_PATH = lazy_pattern(r"(?:https?://[^/]+)?(?:/[^/?#]+)*/([^/?#]+)/?")


class _Link(Struct):
    """One value, as it is in each replay. `names`: those under which a flow saves it, empty if no flow does.
    `text`: its placeholder."""

    values: Vector
    names: frozenset[str]
    text: str

    def is_at(self, path: Path) -> bool:
        """Whether an equal value at a path is this value and not equal by chance."""
        if all(looks_like_id(value, path) for value in self.values) or self.is_long():
            return True
        name = name_of(path)
        if self.names:
            return _plain(name) in self.names
        return bool(_ID_KEY.search(name)) and all(len(str(value)) >= _FEWEST_DIGITS for value in self.values)

    def marked(self, text: str, replay: int, mark: str) -> str:
        """Return a text with a mark wherever the value of a replay occurs in it."""
        value = re.escape(str(self.values[replay]))
        if self.is_long() or looks_like_id(self.values[replay]):
            pattern = rf"(?<![A-Za-z0-9]){value}(?![A-Za-z0-9])"
        else:  # a short value counts only where a URL has an id
            pattern = rf"(?<=[/=]){value}(?=[/?#&]|$)"
        return re.sub(pattern, lambda match: mark, text)

    def is_long(self) -> bool:
        return all(isinstance(one, str) and len(one) >= _LONG and not one.isalpha() for one in self.values)


def bind_links(volatiles: Sequence[Volatile], outputs: Sequence[Json], view: ReplayView) -> list[Volatile]:
    """Return the volatile places with one binding for each value that several of them hold; for a flow that
    made what it saves, also the other places that hold it."""
    vectors = {item.places: vector for item in volatiles if (vector := _vector_of(item.places, outputs))}
    links = list(_links_of(volatiles, vectors, outputs, view))
    if not links:
        return list(volatiles)
    free = _free_places(volatiles, outputs[0], view, links) if view.is_made else {}
    texts, result = _texts_at({**vectors, **free}, links, view), []
    for item in volatiles:
        text = texts.pop(item.places, None)
        result.append(item if text is None else replace(item, proposal=_proposal(text, item.proposal.reason)))
    for where, text in texts.items():
        result.append(Volatile(where[0], where, free[where], _proposal(text, "made by this flow")))
    return result


def _proposal(text: str, reason: str) -> PlaceholderProposal:
    names = "`, `".join(dict.fromkeys(re.findall(r" as ([A-Za-z0-9_-]+)>>", text)))
    return PlaceholderProposal(text, f"{reason}; one value wherever `{names}` is")


def _vector_of(where: Places, outputs: Sequence[Json]) -> Vector | None:
    """Return the values of some places, one for each replay; None if the places hold different values."""
    rows = [[value_or_absent(output, path) for output in outputs] for path in where]
    is_one = len({tuple((type(value), str(value)) for value in row) for row in rows}) == 1
    return tuple(rows[0]) if is_one and all(map(_is_scalar, rows[0])) else None


def _is_scalar(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _links_of(
    volatiles: Sequence[Volatile], vectors: Mapping[Places, Vector], outputs: Sequence[Json], view: ReplayView
) -> Iterator[_Link]:
    """Yield the values that could be links: those that a flow saves, then those that look like ids."""
    texts: dict[Vector, str] = {}
    for item in volatiles:
        if item.places in vectors:
            texts.setdefault(vectors[item.places], item.proposal.text)
    seen, keys = set[Vector](), set[str]()
    for index, (name, path, _) in enumerate(view.saved[0] if view.saved else ()):
        vector = tuple(saved[index][2] for saved in view.saved if index < len(saved))
        is_made = view.is_made or len(set(map(str, vector))) == len(vector) > 1
        last_key = _LAST_KEY.search(path)
        names = [name, last_key[0] if last_key else name]
        if view.is_made and (segment := _last_segment(vector[0])):
            same = (value for _, value in places(outputs[0]) if _is_scalar(value) and str(value) == segment)
            vector, names = (next(same, segment),), [name, f"{name}_id", "id"]
        if is_made and vector not in seen and all(_may_be_id(value, names[:2]) for value in vector):
            seen.add(vector)
            text = _bound(texts.get(vector), vector, _new_key(name, keys), view)
            yield _Link(vector, frozenset(map(_plain, names)), text)
    for item in volatiles:
        vector = vectors.get(item.places, ())
        if vector in seen or len(set(map(str, vector))) < 2:
            continue
        seen.add(vector)
        first, text = item.places[0], item.proposal.text
        if _is_one(text) and all(_may_be_id(value, [name_of(first)]) for value in vector):
            yield _Link(vector, frozenset(), _bound(text, vector, _new_key(_name_at(first), keys), view))


def _last_segment(value: Json) -> str:
    """Return the id at the end of a URL that a step saves (the URL of what it has made), or an empty text."""
    match = _URL_PATH.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match and (looks_like_id(match[1]) or any(map(str.isdigit, match[1]))) else ""


def _may_be_id(value: Json, names: Sequence[str]) -> bool:
    if not _is_scalar(value) or "/" in str(value):
        return False
    if all(looks_like_id(value, (name,)) for name in names):
        return True
    is_named = any(map(_ID_KEY.search, names)) and bool(_PLAIN_ID.fullmatch(str(value)))
    return is_named and moment_of(value) is None


def _name_at(path: Path) -> str:
    """Return a name for the value at a path: `order_id` for `order.id`. A name as short as `id` takes the one
    above it as prefix."""
    words = [key for key in path if isinstance(key, str) and key not in ("body", "headers")]
    if len(words) > 1 and len(words[-1]) <= 4:
        return f"{words[-2].removesuffix('s')}_{words[-1]}"
    return words[-1] if words else "id"


def _new_key(name: str, keys: set[str]) -> str:
    """Return a key that the placeholder grammar allows and that no other link has."""
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_-") or "id"
    clean = clean if not clean[0].isdigit() else f"id_{clean}"
    key, number = clean, 2
    while key in keys:
        key, number = f"{clean}_{number}", number + 1
    keys.add(key)
    return key


def _bound(text: str | None, values: Vector, key: str, view: ReplayView) -> str:
    """Return the placeholder of a value with its binding."""
    candidates = (text, narrowest(list(values), view.write, view.words)[0].text)
    one = next((found for found in candidates if found and _is_one(found)), "<<any_nonempty_string>>")
    return one.replace(">>", f" as {key}>>")


def _is_one(text: str) -> bool:
    """Whether the text holds exactly one placeholder, perhaps with fixed text around it:
    `ord_<<any_token>>`."""
    return text.count("<<") == text.count(">>") == 1 and " as " not in text


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _free_places(
    volatiles: Sequence[Volatile], output: Json, view: ReplayView, links: Sequence[_Link]
) -> dict[Places, Vector]:
    """Return the places without a placeholder that could hold a link."""
    taken = {path for item in volatiles for path in item.places}
    values = {str(link.values[0]) for link in links}
    free = [
        path
        for path, value in places(output)
        if path not in taken and _is_scalar(value) and any(known in str(value) for known in values)
    ]
    compared = view.literal(free) if free else ()
    return {(path,): (value_at(output, path),) for path in free if path in compared}


def _texts_at(vectors: dict[Places, Vector], links: Sequence[_Link], view: ReplayView) -> dict[Places, str]:
    """Return what is stored at the places that hold a link. A value at one place alone is not a link, unless
    the flow made it."""
    for _ in range(2):
        held = {where: _held_at(where[0], vector, links, view) for where, vector in vectors.items()}
        numbers = [number for found in held.values() if found for number in found[0]]
        least = 1 if view.is_made else 2
        used = [link for number, link in enumerate(links) if numbers.count(number) >= least]
        if len(used) == len(links):
            break
        links = used
    return {where: found[1] for where, found in held.items() if found}


def _held_at(
    path: Path, vector: Vector, links: Sequence[_Link], view: ReplayView
) -> tuple[frozenset[int], str] | None:
    """Return the numbers of the links that a place holds, and the text that is stored there."""
    for number, link in enumerate(links):
        if vector == link.values and list(map(type, vector)) == list(map(type, link.values)):
            return (frozenset((number,)), link.text) if link.is_at(path) else None
    if not all(isinstance(value, str) for value in vector):
        return None
    texts = [str(value) for value in vector]
    for number, link in sorted(enumerate(links), key=lambda pair: -len(str(pair[1].values[0]))):
        texts = [link.marked(text, replay, f"\0{number}\0") for replay, text in enumerate(texts)]
    numbers = frozenset(map(int, _MARK.findall(texts[0])))
    if not numbers or len(set(texts)) > 1:
        return None
    parts, text = _MARK.split(texts[0]), ""
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        text += links[int(part)].text if index % 2 else view.write(part, not is_last)
    return numbers, text
