"""The forms in which a known secret could come back, and what a text is searched for to find each of them."""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from baselinekit.secretlike.unescaped import Unescaped

SHORTEST = 4
"""A shorter secret cannot be kept: it is everywhere."""

CHUNK = 16
"""Any piece of a long secret that is twice as long, and encoded, holds a chunk of it that is looked for."""

_SHORTEST_LINE = 8
_SHORTEST_FRAGMENT = 8
_SHORTEST_WHOLE = 6
_LONG = 48
_MOST_SHORT_BYTES = 6
_FENCE = re.compile(r"\s*-----[A-Z ]+-----\s*")
_NOT_TELLING = re.compile(r"[\W_]+")

Needle = tuple[str, str]
"""What is looked for, and the name of the secret that it gives away."""


@dataclass(frozen=True, slots=True)
class Needles:
    """What to look for in a text as it stands, in one without escapes, and in its runs of letters and digits,
    the shortest first: base64 and double base64, hex in small letters, base32 in capitals; and chunks of long
    ones."""

    plain: tuple[Needle, ...]
    unescaped: tuple[Needle, ...]
    base64: tuple[Needle, ...]
    hex: tuple[Needle, ...]
    base32: tuple[Needle, ...]
    short: tuple[Needle, ...]
    """Those of which a longer text in base64 holds too little to be looked for: it is decoded instead."""
    chunks: Mapping[str, str]

    @property
    def shortest_run(self) -> int:
        return min((len(needle) for needle, _ in (*self.base64, *self.hex, *self.base32)), default=0)


def needles_of(secrets: Mapping[str, str]) -> Needles:
    """The longest come first: one secret may hold another."""
    kept = sorted(
        ((value, name) for name, value in secrets.items() if len(value) >= SHORTEST),
        key=lambda one: len(one[0]),
        reverse=True,
    )
    plain = list(_unique((form, name) for value, name in kept for form in _written(value)))
    bare = [(form, name) for value, name in plain for form in _bare(value)]
    raw = [(value.encode("utf-8", "surrogatepass"), name) for value, name in kept]
    once = [(core, name) for value, name in raw for core in _in_base64(value)]
    twice = [
        (core, name)
        for value, name in raw
        for inner in _in_base64(value)
        for core in _in_base64(inner.encode())
        if len(core) >= _SHORTEST_FRAGMENT
    ]
    in_hex = [(value.hex(), name) for value, name in raw]
    long = [(form, name) for form, name in (*once, *twice, *in_hex) if len(form) >= _LONG]
    return Needles(
        tuple(plain),
        tuple(_unique(bare)),
        _by_length((*once, *twice)),
        _by_length(in_hex),
        _by_length((core, name) for value, name in raw for core in _in_base32(value)),
        tuple((value, name) for value, name in kept if is_short(value)),
        {form[at : at + CHUNK]: name for form, name in long for at in range(0, len(form) - CHUNK + 1, CHUNK)},
    )


def _written(secret: str) -> Iterator[str]:
    """As it is, on one line, and each of its lines alone."""
    yield secret
    if len(joined := " ".join(secret.split())) >= SHORTEST:
        yield joined
    yield from lines_of(secret)


def lines_of(secret: str) -> Iterator[str]:
    """The lines of a secret of several lines, as far as they tell something: a diff shows it line by line."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", secret)]
    if len(lines) > 1:
        for line in lines:
            if len(_NOT_TELLING.sub("", line)) >= _SHORTEST_LINE and not _FENCE.fullmatch(line):
                yield line


def is_short(secret: str) -> bool:
    """Whether what it alone decides of a longer text in base64 is too little to be looked for."""
    return len(secret.encode("utf-8", "surrogatepass")) <= _MOST_SHORT_BYTES


def _by_length(needles: Iterable[Needle]) -> tuple[Needle, ...]:
    return tuple(sorted(_unique(needles), key=lambda one: len(one[0])))


def _unique(needles: Iterable[Needle]) -> Iterator[Needle]:
    seen: set[str] = set()
    for needle, name in needles:
        if needle not in seen:
            seen.add(needle)
            yield needle, name


def _bare(secret: str) -> Iterator[str]:
    """The secret as `Unescaped` leaves it. A backslash at its end may be taken for the escape of what
    follows; and where others are escaped one by one, it cannot be told which of them were its own."""
    for form in (secret, secret.replace("\\", "")) if "\\" in secret else (secret,):
        whole = Unescaped(form).text
        bare = whole.rstrip("\\")
        if len(bare) >= SHORTEST - (len(secret) >= 2 * SHORTEST):
            yield bare
        elif len(whole) >= SHORTEST:
            yield whole


def _in_base64(raw: bytes) -> Iterator[str]:
    """What of a text in base64 the secret alone decides, at each of the three places that it can have."""
    whole = base64.b64encode(raw).decode().rstrip("=")
    if len(whole) >= _SHORTEST_WHOLE:
        yield whole
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        end = len(encoded) if (shift + len(raw)) % 3 == 0 else encoded.index("=") - 1
        core = encoded[(0, 2, 3)[shift] : end]
        if len(core) >= _SHORTEST_FRAGMENT:
            yield core


def _in_base32(raw: bytes) -> Iterator[str]:
    """As `_in_base64`, at each of five places."""
    whole = base64.b32encode(raw).decode().rstrip("=")
    if len(whole) >= _SHORTEST_FRAGMENT - 1:
        yield whole
    for shift in range(5):
        bits = 8 * (shift + len(raw))
        encoded = base64.b32encode(b"\0" * shift + raw).decode()
        core = encoded[-(-8 * shift // 5) : bits // 5]
        if len(core) >= _SHORTEST_FRAGMENT:
            yield core
