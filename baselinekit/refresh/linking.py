"""What is one value at several places becomes one binding: the id that a flow saves and that later answers
repeat, the id of an order and the link to it. `<<any_uuid as order_id>>` is the same value wherever it
stands, so that an answer that mixes two of them up is told.

Values that are equal by chance are left alone: small numbers, moments, words. How often this errs is measured
in tests/refresh/test_linking.py."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.narrowest import PlaceholderProposal, narrowest
from baselinekit.placeholders.nature import looks_like_id, moment_of, name_of
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import Words
from baselinekit.refresh.learning import Volatile
from baselinekit.tree.places import places, value_at

Saved = Sequence[tuple[str, str, Json]]
"""What the steps of a flow save: under which name, the path that it is taken from, and the value."""

_NAMED = lazy_pattern(
    r"(?:^|[_.-])(?i:id|uid|uuid|guid|oid|key|token|session|sid|ref|reference|number|no|etag|rev|revision|slug)$"
    r"|(?<=[a-z0-9])(?:Id|ID|Uid|Uuid|UUID|Guid|Key|Token|Ref|Number|No|Slug)$"
)
_PLAIN = lazy_pattern(r"[A-Za-z0-9_.:~+/=-]{1,200}")
_FEWEST_DIGITS = 4
"""A number with fewer is equal to another one by chance."""

_LONG = 8
_MARK = lazy_pattern("\0([0-9]+)\0")
_END = lazy_pattern(r"[^.\[\]\"']+(?=[\]\"']*$)")
_ADDRESS = lazy_pattern(r"(?:https?://[^/]+)?(?:/[^/?#]+)*/([^/?#]+)/?")
_NO_KEY = lazy_pattern(r"[^A-Za-z0-9_-]+")


@frozen
class LinkView:
    """How links are looked for. `saved`: what each replay saved. `is_made`: a writing flow was replayed once,
    so that what it saves was made for this replay, and would be another one in the next. `compared`: of some
    places those that hold what came back as it was, and that the rules look at."""

    saved: Sequence[Saved] = ()
    is_made: bool = False
    compared: Callable[[Collection[Path]], Collection[Path]] = lambda paths: ()
    write: Write = field(default=lambda text, followed: text)
    words: Words = field(default_factory=Words)


Vector = tuple[Json, ...]
"""The values at a place, one for each replay."""


@frozen
class _Link:
    """One value, by what it is in each replay. `names`: those under which a flow saves it, in small letters
    and without signs; empty where no flow does. `text`: the placeholder that stands for it."""

    values: Vector
    key: str
    names: frozenset[str]
    text: str

    def is_at(self, path: Path) -> bool:
        """Whether what is equal to it at a place is it, and not by chance."""
        if all(looks_like_id(value, path) for value in self.values) or self.is_long():
            return True
        name = name_of(path)
        if self.names:
            return _folded(name) in self.names
        return bool(_NAMED.search(name)) and all(len(str(value)) >= _FEWEST_DIGITS for value in self.values)

    def marked(self, text: str, replay: int, mark: str) -> str:
        """A text with a mark wherever the value of a replay stands in it."""
        value = re.escape(str(self.values[replay]))
        if self.is_long() or looks_like_id(self.values[replay]):
            pattern = rf"(?<![A-Za-z0-9]){value}(?![A-Za-z0-9])"
        else:  # a short one only where a URL has an id
            pattern = rf"(?<=[/=]){value}(?=[/?#&]|$)"
        return re.sub(pattern, lambda match: mark, text)

    def is_long(self) -> bool:
        return all(isinstance(one, str) and len(one) >= _LONG and not one.isalpha() for one in self.values)


def linked(found: Sequence[Volatile], outputs: Sequence[Json], view: LinkView) -> list[Volatile]:
    """What varies, with one binding for what is one value; in a flow that made what it saves, also the places
    that hold it."""
    vectors = {one.places: vector for one in found if (vector := vector_of(one, outputs)) is not None}
    links = list(links_of(found, vectors, outputs, view))
    if not links:
        return list(found)
    free: dict[tuple[Path, ...], Vector] = {}
    if view.is_made:
        free = free_places(found, outputs, view, links)
    texts = texts_at({**vectors, **free}, links, view)
    result = []
    for one in found:
        text = texts.pop(one.places, None)
        result.append(one if text is None else replace(one, proposal=_proposal(text, one.proposal.reason)))
    for where, text in texts.items():
        result.append(Volatile(where[0], where, free[where], _proposal(text, "made by this flow")))
    return result


def _proposal(text: str, reason: str) -> PlaceholderProposal:
    return PlaceholderProposal(text, f"{reason}; one value wherever `{key_of(text)}` stands")


def key_of(text: str) -> str:
    return "`, `".join(dict.fromkeys(re.findall(r" as ([A-Za-z0-9_-]+)>>", text)))


def vector_of(one: Volatile, outputs: Sequence[Json]) -> Vector | None:
    """The values of what varies; None where its rows have others than each other."""
    vectors = set[tuple[tuple[type, str], ...]]()
    vector: Vector = ()
    for path in one.places:
        try:
            vector = tuple(value_at(output, path) for output in outputs)
        except (LookupError, TypeError):
            return None
        vectors.add(tuple((type(value), str(value)) for value in vector))
    return vector if len(vectors) == 1 and all(map(is_scalar, vector)) else None


def is_scalar(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def links_of(
    found: Sequence[Volatile],
    vectors: dict[tuple[Path, ...], Vector],
    outputs: Sequence[Json],
    view: LinkView,
) -> Iterator[_Link]:
    """The values that could be links: those that a flow saves, then those that look like ids."""
    known = set[Vector]()
    keys = set[str]()
    for index, (name, path, _) in enumerate(view.saved[0] if view.saved else ()):
        vector = tuple(saved[index][2] for saved in view.saved if index < len(saved))
        is_made = view.is_made or len(set(map(str, vector))) == len(vector) > 1
        last = _END.search(path)
        end = last[0] if last else name
        if view.is_made and (segment := last_segment(vector[0])):
            vector, end = (as_it_stands(segment, outputs[0]),), f"{name}_id"
        if not is_made or vector in known or not all(may_be_id(value, (name, end)) for value in vector):
            continue
        known.add(vector)
        text = next((one.proposal.text for one in found if vectors.get(one.places) == vector), None)
        key = new_key(name, keys)
        names = frozenset(map(_folded, (name, end, *(("id",) if end == f"{name}_id" else ()))))
        yield _Link(vector, key, names, _bound(text, vector, key, view))
    for one in found:
        candidate = vectors.get(one.places)
        if candidate is None or candidate in known or len(set(map(str, candidate))) < 2:
            continue
        known.add(candidate)
        where = one.places[0]
        if all(may_be_id(value, (name_of(where),)) for value in candidate) and _has_one(one.proposal.text):
            key = new_key(name_at(where), keys)
            yield _Link(candidate, key, frozenset(), _bound(one.proposal.text, candidate, key, view))


def last_segment(value: Json) -> str:
    """The id at the end of an address that a step saves: of what it has made."""
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    is_id = match is not None and (looks_like_id(match[1]) or any(map(str.isdigit, match[1])))
    return match[1] if match and is_id else ""


def as_it_stands(segment: str, output: Json) -> Json:
    """The id as the answers have it under a name of ids: as a number, perhaps."""
    same = (value for path, value in places(output) if is_scalar(value) and str(value) == segment)
    return next(same, segment)


def may_be_id(value: Json, names: Sequence[str]) -> bool:
    if not is_scalar(value) or "/" in str(value):
        return False
    if all(looks_like_id(value, (name,)) for name in names):
        return True
    is_named = any(map(_NAMED.search, names)) and bool(_PLAIN.fullmatch(str(value)))
    return is_named and moment_of(value) is None


def name_at(path: Path) -> str:
    """`order_id` of `order.id`; a name that says no more than that it is one takes the one above it."""
    words = [key for key in path if isinstance(key, str) and key not in ("body", "headers")]
    if len(words) > 1 and len(words[-1]) <= 4:
        return f"{words[-2].removesuffix('s')}_{words[-1]}"
    return words[-1] if words else "id"


def new_key(name: str, keys: set[str]) -> str:
    """A key that the grammar of placeholders takes, and that no other link has."""
    plain = _NO_KEY.sub("_", name).strip("_-") or "id"
    plain = plain if not plain[0].isdigit() else f"id_{plain}"
    key, number = plain, 2
    while key in keys:
        key, number = f"{plain}_{number}", number + 1
    keys.add(key)
    return key


def _bound(text: str | None, values: Vector, key: str, view: LinkView) -> str:
    """The placeholder of a value with the binding in it."""
    if text is None or not _has_one(text):
        text = narrowest(list(values), view.write, view.words)[0].text
    if not _has_one(text):
        text = "<<any_nonempty_string>>"
    return text.replace(">>", f" as {key}>>")


def _has_one(text: str) -> bool:
    """Whether it is one placeholder, perhaps with a text around it that stays: `ord_<<any_token>>`."""
    return text.count("<<") == text.count(">>") == 1 and " as " not in text


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def free_places(
    found: Sequence[Volatile], outputs: Sequence[Json], view: LinkView, links: Sequence[_Link]
) -> dict[tuple[Path, ...], Vector]:
    """The places that nothing stands for yet and that could hold a link."""
    taken = {path for one in found for path in one.places}
    wanted = {str(link.values[0]) for link in links}
    free: dict[Path, Vector] = {}
    for path, value in places(outputs[0]):
        if path in taken or not is_scalar(value) or not any(one in str(value) for one in wanted):
            continue
        with suppress(LookupError, TypeError):
            free[path] = tuple(value_at(output, path) for output in outputs)
    compared = view.compared(list(free)) if free else ()
    return {(path,): vector for path, vector in free.items() if path in compared}


def texts_at(
    vectors: dict[tuple[Path, ...], Vector], links: Sequence[_Link], view: LinkView
) -> dict[tuple[Path, ...], str]:
    """What is to be stored at the places that hold a link. A link at one place alone is none, unless the flow
    made its value."""
    for _ in range(2):
        held = {where: _holding(where[0], vector, links, view) for where, vector in vectors.items()}
        counts = [sum(number in one[0] for one in held.values() if one) for number in range(len(links))]
        kept = [
            one for one, count in zip(links, counts, strict=True) if count > 1 or (count and view.is_made)
        ]
        if len(kept) == len(links):
            break
        links = kept
    return {where: one[1] for where, one in held.items() if one}


def _holding(
    path: Path, vector: Vector, links: Sequence[_Link], view: LinkView
) -> tuple[frozenset[int], str] | None:
    """Which links a place holds, by number, and the text that is to be stored there."""
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
        is_mark, is_last = index % 2 == 1, index == len(parts) - 1
        text += links[int(part)].text if is_mark else view.write(part, not is_last)
    return numbers, text
