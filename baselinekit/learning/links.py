"""Gives one binding to a value that stands at several places: the id that a flow saves and that later answers
repeat, the id of an order and the link to it. `<<any_uuid as order_id>>` is the same value everywhere, so an
answer that mixes up two of them is reported.

Values that are equal by chance are left alone: small numbers, moments, words. The error rate is measured in
tests/learning/test_linking.py."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.varying import Volatile
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.narrowest import PlaceholderProposal, narrowest
from baselinekit.placeholders.nature import looks_like_id, moment_of, name_of
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.structs import replace
from baselinekit.values.places import places, value_at

Saved = Sequence[tuple[str, str, Json]]
"""What the steps of a flow save: the name, the path of the value, and the value."""

_ID_KEY = lazy_pattern(
    r"(?:^|[_.-])(?i:id|uid|uuid|guid|oid|key|token|session|sid|ref|reference|number|no|etag|rev|revision|slug)$"
    r"|(?<=[a-z0-9])(?:Id|ID|Uid|Uuid|UUID|Guid|Key|Token|Ref|Number|No|Slug)$"
)
_PLAIN_ID = lazy_pattern(r"[A-Za-z0-9_.:~+/=-]{1,200}")
_FEWEST_DIGITS = 4
"""A number with fewer digits may equal another one by chance."""

_LONG_VALUE = 8
_MARK = lazy_pattern("\0([0-9]+)\0")
_LAST_KEY = lazy_pattern(r"[^.\[\]\"']+(?=[\]\"']*$)")
_URL_PATH = lazy_pattern(r"(?:https?://[^/]+)?(?:/[^/?#]+)*/([^/?#]+)/?")
_NOT_IN_KEYS = lazy_pattern(r"[^A-Za-z0-9_-]+")


@frozen
class LinkView:
    """How links are searched for. `saved`: what each replay saved. `is_made`: a writing flow was replayed
    once, so what it saves was made by this replay and will differ in the next. `compared`: selects the paths
    whose values are stored as they came and that the rules compare."""

    saved: Sequence[Saved] = ()
    is_made: bool = False
    compared: Callable[[Collection[Path]], Collection[Path]] = lambda paths: ()
    write: Write = field(default=lambda text, followed: text)
    words: PlaceholderContext = field(default_factory=PlaceholderContext)


Vector = tuple[Json, ...]
"""The values at a place, one for each replay."""


@frozen
class _Link:
    """One value, as it is in each replay. `names`: the normalized names under which a flow saves it, empty if
    no flow does. `text`: the placeholder that stands for it."""

    values: Vector
    key: str
    names: frozenset[str]
    text: str

    def is_at(self, path: Path) -> bool:
        """Whether an equal value at a path is this value and not equal by chance."""
        if all(looks_like_id(value, path) for value in self.values) or self.is_long():
            return True
        name = name_of(path)
        if self.names:
            return _normalize_name(name) in self.names
        return bool(_ID_KEY.search(name)) and all(len(str(value)) >= _FEWEST_DIGITS for value in self.values)

    def marked(self, text: str, replay: int, mark: str) -> str:
        """Return a text with a mark wherever the value of a replay stands in it."""
        value = re.escape(str(self.values[replay]))
        if self.is_long() or looks_like_id(self.values[replay]):
            pattern = rf"(?<![A-Za-z0-9]){value}(?![A-Za-z0-9])"
        else:  # a short value counts only where a URL has an id
            pattern = rf"(?<=[/=]){value}(?=[/?#&]|$)"
        return re.sub(pattern, lambda match: mark, text)

    def is_long(self) -> bool:
        return all(
            isinstance(value, str) and len(value) >= _LONG_VALUE and not value.isalpha()
            for value in self.values
        )


def bind_links(volatiles: Sequence[Volatile], outputs: Sequence[Json], view: LinkView) -> list[Volatile]:
    """Return the volatile places with one binding for each value that several of them hold; for a flow that
    made what it saves, also the other places that hold it."""
    vectors = {
        volatile.places: vector
        for volatile in volatiles
        if (vector := vector_of(volatile, outputs)) is not None
    }
    links = list(links_of(volatiles, vectors, outputs, view))
    if not links:
        return list(volatiles)
    free: dict[tuple[Path, ...], Vector] = {}
    if view.is_made:
        free = free_places(volatiles, outputs, view, links)
    texts = texts_at({**vectors, **free}, links, view)
    result = []
    for volatile in volatiles:
        text = texts.pop(volatile.places, None)
        result.append(
            volatile
            if text is None
            else replace(volatile, proposal=_proposal(text, volatile.proposal.reason))
        )
    for where, text in texts.items():
        result.append(Volatile(where[0], where, free[where], _proposal(text, "made by this flow")))
    return result


def _proposal(text: str, reason: str) -> PlaceholderProposal:
    return PlaceholderProposal(text, f"{reason}; one value wherever `{binding_names(text)}` stands")


def binding_names(text: str) -> str:
    return "`, `".join(dict.fromkeys(re.findall(r" as ([A-Za-z0-9_-]+)>>", text)))


def vector_of(volatile: Volatile, outputs: Sequence[Json]) -> Vector | None:
    """Return the values of a volatile place, one for each replay; None if its rows hold different values."""
    vectors = set[tuple[tuple[type, str], ...]]()
    vector: Vector = ()
    for path in volatile.places:
        try:
            vector = tuple(value_at(output, path) for output in outputs)
        except (LookupError, TypeError):
            return None
        vectors.add(tuple((type(value), str(value)) for value in vector))
    return vector if len(vectors) == 1 and all(map(is_scalar, vector)) else None


def is_scalar(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def links_of(
    volatiles: Sequence[Volatile],
    vectors: dict[tuple[Path, ...], Vector],
    outputs: Sequence[Json],
    view: LinkView,
) -> Iterator[_Link]:
    """Yield the values that could be links: those that a flow saves, then those that look like ids."""
    seen_vectors = set[Vector]()
    keys = set[str]()
    for index, (name, path, _) in enumerate(view.saved[0] if view.saved else ()):
        vector = tuple(saved[index][2] for saved in view.saved if index < len(saved))
        is_made = view.is_made or len(set(map(str, vector))) == len(vector) > 1
        last_key = _LAST_KEY.search(path)
        end = last_key[0] if last_key else name
        if view.is_made and (segment := last_segment(vector[0])):
            vector, end = (id_in_output(segment, outputs[0]),), f"{name}_id"
        if (
            not is_made
            or vector in seen_vectors
            or not all(may_be_id(value, (name, end)) for value in vector)
        ):
            continue
        seen_vectors.add(vector)
        text = next(
            (volatile.proposal.text for volatile in volatiles if vectors.get(volatile.places) == vector), None
        )
        key = new_key(name, keys)
        names = frozenset(map(_normalize_name, (name, end, *(("id",) if end == f"{name}_id" else ()))))
        yield _Link(vector, key, names, _bind(text, vector, key, view))
    for volatile in volatiles:
        candidate = vectors.get(volatile.places)
        if candidate is None or candidate in seen_vectors or len(set(map(str, candidate))) < 2:
            continue
        seen_vectors.add(candidate)
        first_path = volatile.places[0]
        if all(may_be_id(value, (name_of(first_path),)) for value in candidate) and _has_one_placeholder(
            volatile.proposal.text
        ):
            key = new_key(name_at(first_path), keys)
            yield _Link(candidate, key, frozenset(), _bind(volatile.proposal.text, candidate, key, view))


def last_segment(value: Json) -> str:
    """Return the id at the end of a URL that a step saves (the URL of what it has made), or an empty text."""
    match = _URL_PATH.fullmatch(value) if isinstance(value, str) else None
    is_id = match is not None and (looks_like_id(match[1]) or any(map(str.isdigit, match[1])))
    return match[1] if match and is_id else ""


def id_in_output(segment: str, output: Json) -> Json:
    """Return the id as the output holds it: perhaps as a number."""
    same = (value for path, value in places(output) if is_scalar(value) and str(value) == segment)
    return next(same, segment)


def may_be_id(value: Json, names: Sequence[str]) -> bool:
    if not is_scalar(value) or "/" in str(value):
        return False
    if all(looks_like_id(value, (name,)) for name in names):
        return True
    is_named = any(map(_ID_KEY.search, names)) and bool(_PLAIN_ID.fullmatch(str(value)))
    return is_named and moment_of(value) is None


def name_at(path: Path) -> str:
    """Return a name for the value at a path: `order_id` for `order.id`. A name as short as `id` takes the one
    above it as prefix."""
    words = [key for key in path if isinstance(key, str) and key not in ("body", "headers")]
    if len(words) > 1 and len(words[-1]) <= 4:
        return f"{words[-2].removesuffix('s')}_{words[-1]}"
    return words[-1] if words else "id"


def new_key(name: str, keys: set[str]) -> str:
    """Return a key that the placeholder grammar allows and that no other link has."""
    clean = _NOT_IN_KEYS.sub("_", name).strip("_-") or "id"
    clean = clean if not clean[0].isdigit() else f"id_{clean}"
    key, number = clean, 2
    while key in keys:
        key, number = f"{clean}_{number}", number + 1
    keys.add(key)
    return key


def _bind(text: str | None, values: Vector, key: str, view: LinkView) -> str:
    """Return the placeholder of a value with its binding."""
    if text is None or not _has_one_placeholder(text):
        text = narrowest(list(values), view.write, view.words)[0].text
    if not _has_one_placeholder(text):
        text = "<<any_nonempty_string>>"
    return text.replace(">>", f" as {key}>>")


def _has_one_placeholder(text: str) -> bool:
    """Whether the text holds exactly one placeholder, perhaps with fixed text around it:
    `ord_<<any_token>>`."""
    return text.count("<<") == text.count(">>") == 1 and " as " not in text


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def free_places(
    volatiles: Sequence[Volatile], outputs: Sequence[Json], view: LinkView, links: Sequence[_Link]
) -> dict[tuple[Path, ...], Vector]:
    """Return the places without a placeholder that could hold a link."""
    taken_paths = {path for volatile in volatiles for path in volatile.places}
    link_values = {str(link.values[0]) for link in links}
    free: dict[Path, Vector] = {}
    for path, value in places(outputs[0]):
        if (
            path in taken_paths
            or not is_scalar(value)
            or not any(link_value in str(value) for link_value in link_values)
        ):
            continue
        with suppress(LookupError, TypeError):
            free[path] = tuple(value_at(output, path) for output in outputs)
    compared = view.compared(list(free)) if free else ()
    return {(path,): vector for path, vector in free.items() if path in compared}


def texts_at(
    vectors: dict[tuple[Path, ...], Vector], links: Sequence[_Link], view: LinkView
) -> dict[tuple[Path, ...], str]:
    """Return what is stored at the places that hold a link. A value at one place alone is no link, unless the
    flow made it."""
    for _ in range(2):
        held_links = {where: _find_links(where[0], vector, links, view) for where, vector in vectors.items()}
        counts = [
            sum(number in held[0] for held in held_links.values() if held) for number in range(len(links))
        ]
        used_links = [
            link for link, count in zip(links, counts, strict=True) if count > 1 or (count and view.is_made)
        ]
        if len(used_links) == len(links):
            break
        links = used_links
    return {where: held[1] for where, held in held_links.items() if held}


def _find_links(
    path: Path, vector: Vector, links: Sequence[_Link], view: LinkView
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
        is_mark, is_last = index % 2 == 1, index == len(parts) - 1
        text += links[int(part)].text if is_mark else view.write(part, not is_last)
    return numbers, text
