"""What in a text or a value looks like a secret that nobody declared, and the text without it."""

import operator
import string
from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Container, Iterator
from functools import cache
from urllib.parse import unquote

from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.names import is_secret_header, is_secret_key, may_be_random, name_before
from baselinekit.secrets.scan import RecentTexts, TextScan, keeps

# Secrets that are known by their shape, wherever they stand in a text. Each shape has a word without
# which there is none of it: only where that stands is looked any closer.

_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""What `\\b` stands for below: where a word begins, also after a line end that is written as an escape."""
_NAMED = (
    r"(?:api[-_]?key|(?:auth|access|refresh|id|session|api)[-_]?token|token|(?:client[-_]?)?secret"
    r"|password|passwd|pwd)"
)
_STANDS_FOR = r"(?![<${*\[…])"

_NAMES = ("apikey", "api-key", "api_key", "token", "secret", "passw", "pwd")

_SHAPES = (
    (
        "a JSON Web Token",
        ("eyJ",),
        r"\beyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{8,2000}",
    ),
    (
        "a private key",
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
        r"(?:[A-Za-z0-9+/=\\\s:,-]{0,8000}?-----END [A-Z ]{0,40}KEY-----)?",
    ),
    (
        "an API key",
        ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "hf_", "npm_", "pypi-", "dop_v1_", "SG.", "whsec_"),
        r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)[-_][A-Za-z0-9_-]{16,}"
        r"|\bsk-[A-Za-z0-9]{32,}|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}"
        r"|\bpypi-AgEI[A-Za-z0-9_-]{50,}"
        r"|\bdop_v1_[a-f0-9]{64}|\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"
        r"|\bwhsec_[A-Za-z0-9+/=]{24,}",
    ),
    (
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    ("a GitLab token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    (
        "an AWS key",
        ("AKIA", "ASIA"),
        r"\b(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}(?![0-9A-Za-z])",
    ),
    ("a Slack token", ("xox", "xapp-"), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}"),
    (
        "a Google API key",
        ("AIza", "ya29.", "GOCSPX-"),
        r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}",
    ),
    (
        "a webhook",
        ("hooks.slack.com/", "discord.com/", "discordapp.com/"),
        r"\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
        r"|\bdiscord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,}",
    ),
    (
        "a URL with a password",
        ("://",),
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@",
    ),
    (
        "a signed URL",
        ("x-amz-signature=", "x-goog-signature=", "x-amz-security-token=", "sig="),
        r"(?i:[?&](?:x-(?:amz|goog)-signature|x-amz-security-token|sig)=[A-Za-z0-9%+/_=-]{30,})",
    ),
    (
        "a secret in a URL",
        _NAMES,
        rf"(?i:[?&;]{_NAMED}=){_STANDS_FOR}(?=[^\s\"'<>&#]{{0,300}}\d)[^\s\"'<>&#]{{8,2000}}",
    ),
    (
        "a credential",
        ("bearer", "basic"),
        r"(?i:\b(?:bearer|basic)\s+)(?=[A-Za-z0-9._~+/-]{0,300}\d)[A-Za-z0-9._~+/-]{16,4000}=*",
    ),
    (
        "a secret in its element",
        _NAMES,
        r"(?i:<(?![\w.:-]*(?:page|next|cursor|sync|continuation))(?:[\w-]{1,40}:)?[\w.-]{0,40}"
        r"(?:token|secret|password|passwd|pwd|api[-_]?key|secret[-_]?(?:access[-_]?)?key)>)"
        r"(?=[^\s<>]{0,300}\d)[^\s<>]{8,8000}(?=</)",
    ),
    (
        "a secret with its name",
        _NAMES,
        rf"(?i:(?<![a-z:]){_NAMED})\\?[\"']?\s{{0,3}}[=:]\s{{0,3}}\\?[\"']?{_STANDS_FOR}"
        r"(?=[^\s\"'<>,;&]{0,300}\d)(?=[^\s\"'<>,;&]{0,300}[A-Za-z])[^\s\"'<>,;&\\]{8,2000}",
    ),
)
_FOLDED = frozenset(
    ("a secret in its element", "a signed URL", "a secret in a URL", "a credential", "a secret with its name")
)
_REACH = {
    "a secret in its element": 82,
    "a URL with a password": 22,
    "a signed URL": 1,
    "a secret in a URL": 9,
    "a secret with its name": 8,
}
"""How far before its word a shape can begin; else it begins with it."""
_FROM_WORD = {
    "a URL with a password": r"://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@",
    "a secret in its element": r"[\w.-]{1,40}>[^\s<>]",
}
"""What a shape goes on with from its word, where the word alone is everywhere."""
_EACH = tuple(
    (
        what,
        tuple(word.encode() for word in words),
        what in _FOLDED,
        _REACH.get(what, 0),
        lazy_pattern(_FROM_WORD.get(what, "")),
        lazy_pattern(pattern.replace(r"\b", _EDGE)),
    )
    for what, words, pattern in _SHAPES
)

_SHORT = 400
_HINTS = lazy_pattern(
    r"eyJ|-----BEGIN|(?:sk|pk|rk|hf|npm|pypi|v1|SG|whsec|gh[pousr]|pat|glpat|xox[abeoprs]|xapp)[-_.]|AKIA|ASIA|AIza"
    r"|ya29|GOCSPX|webhook|hooks\.|://[^\s/]*@|(?i:sig[a-z]*=|security-token=|bearer|basic|token|secret|passw|pwd"
    r"|api[-_]?key)"
)
"""What every shape has a part of. In a short text this is found sooner than one word after the other."""


def shapes_in(look: TextScan) -> Iterator[tuple[int, int, str]]:
    """Where a text holds something of a known shape, and what that is."""
    if len(look.text) < _SHORT and not _HINTS.search(look.text):
        return
    for what, words, folded, before, rest, pattern in _EACH:
        end = 0
        for place in look.words(words, folded):
            if place < end or not rest.match(look.text, place):
                continue
            starts = range(max(end, place - before), place + 1)
            match = next(filter(None, (pattern.match(look.text, start) for start in starts)), None)
            if match:
                end = match.end()
                yield match.start(), end, what


# A run of letters and digits that is random, by the pairs of characters in it.

SHORTEST_RANDOM, _LONGEST = 20, 200
_ENOUGH = 12.0
"""The sum of the weights from which on a run is taken for random."""

_FREE = lazy_pattern(
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>]*"  # an address; what is secret in it has a name (shapes.py)
    r"|\bdata:[\w.+-]+/[\w.+-]+[;,][^\s\"'<>)]*"
    r"|(?<![A-Za-z0-9+/_=-])\.{0,2}/(?![A-Za-z0-9/]*[+=])[^\s\"'<>]*"  # a path
    r"|\b(?i:sha-?(?:1|224|256|384|512)|md5)[-:=][A-Za-z0-9+/_-]+=*"
    r"|(?i:\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
)
_PEM = lazy_pattern(r"-----BEGIN [A-Z ]{0,40}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,40}-----[^-]*")
_TAG = lazy_pattern(r"\b(?i:W/)?\"[^\"\s]{1,80}\"(?=\s*$)")
_UUID = lazy_pattern(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGIT = lazy_pattern(r"[0-9]")
_ID = lazy_pattern(
    r"[0-7][0-9A-HJKMNP-TV-Z]{25}|c[a-z0-9]{24}|[0-9a-fA-F]+|[\d_+/-]+|[A-Z0-9_]+"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+="  # a name in capitals, and the sign that gives it a value: no padding
)
_SMALL = lazy_pattern(r"[a-z0-9]{24,}")
_HEX = lazy_pattern(r"[0-9a-f]+")
_CHECKSUM = lazy_pattern(r"[0-9a-f]{16,}")
_FEWEST_OTHERS, _FEWEST_SIGNS = 3, 10
_TURN = lazy_pattern(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)")
_MOST_TURNS = 0.22
"""Of the places in small letters and digits, the part where one goes over into the other: ids have fewer."""
_KNOWN_DATA = lazy_pattern(r"iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|PHN2Zy|PD94bW|H4sI|UEsDB|T2dnU|AAAA")

_COMMON = (
    "ab ac ad ag ai al am an ap ar as at au ay ba be bi bl bo bu ca ce ch ci ck cl co cr ct cu da de di"
    " do ds ea ec ed ee ef eg el em en ep er es et ev ex fa fe ff fi fo fr ge gi gs ha he hi ho ia ib ic"
    " id ie if ig il im in io ip ir is it iv iz ke la ld le li ll lo ls lt lu ly ma me mi mo mp na nc nd"
    " ne nf ng ni no ns nt nu ob oc od ok ol om on oo op or os ot ou ow pa pe pi pl po pp pr pt pu qu ra"
    " rc rd re rg ri rm rn ro rr rs rt ry sa sc se sh si so sp ss st su ta tc te th ti to tr ts tt tu ty"
    " ub ue ul um un up ur us ut va ve vi wa we xt yp ze"
)
"""The pairs of letters that make up 85 of 100 pairs in the words of answers and of programs."""

_WEIGHTS = {"ll+": -2.3, "ll-": 0.75, "Ul+": 1.1, "Ul-": 3.1, "UU+": 0.5, "UU-": 2.6}
_WEIGHTS |= {"lU": 2.5, "ld": 1.2, "dl": 1.2, "Ud": 3.3, "dU": 3.4, "dd": -1.7}
_WEIGHTS |= {"ls": -2.3, "sl": -2.3, "Us": 0.7, "sU": 0.0, "sd": -1.8, "ds": -1.7, "ss": -1.0}


def random_in(look: TextScan) -> Iterator[tuple[int, int]]:
    """Where a text holds a random run."""
    text, free = look.text, _Free(look)
    for start, stop in look.runs(SHORTEST_RANDOM):
        end = look.padded(stop)
        run = text[start:end]
        if not _DIGIT.search(run) or _UUID.fullmatch(run):
            continue
        run = _CHECKSUM.sub("", run)
        if len(run) > _LONGEST or _ID.fullmatch(run) or _KNOWN_DATA.match(run):
            continue
        if (_is_mixed(run) or _is_in_turns(run)) and not free.holds(start, end):
            yield start, end


class _Free:
    """The places of a text in which anything may be random: addresses, paths, checksums and the like. They
    are looked for around what looks random, and not in all of a long text."""

    def __init__(self, look: TextScan):
        self._look = look
        self._chunk = (0, 0)
        self._in_chunk: list[tuple[int, int]] = []
        self._long: list[tuple[int, int]] | None = None

    def holds(self, start: int, end: int) -> bool:
        chunk = self._look.chunk(start, end)
        if chunk != self._chunk:
            self._chunk = chunk
            self._in_chunk = [match.span() for match in _FREE.finditer(self._look.text, *chunk)]
        if _meets(self._in_chunk, start, end):
            return True
        if self._long is None:  # what has blanks in it, or is only what it is at the end of the text
            text = self._look.text
            pem = _PEM.finditer(text) if b"-----BEGIN " in self._look.data else ()
            tag = _TAG.finditer(text, max(0, len(text.rstrip()) - 200))
            self._long = sorted(match.span() for match in (*pem, *tag))
        return _meets(self._long, start, end)


def _meets(places: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of some places, in their order, overlaps with a run."""
    before = bisect_left(places, (end,)) - 1
    return before >= 0 and places[before][1] > start


def _is_in_turns(run: str) -> bool:
    """Small letters and digits in turn; where all of them are hexadecimal, it is a checksum or an id."""
    return any(
        len(_TURN.findall(part)) >= _MOST_TURNS * len(part) and len(_HEX.sub("", part)) > _FEWEST_OTHERS
        for part in _SMALL.findall(run)
    )


def _is_mixed(run: str) -> bool:
    """Whether some stretch of it is: what stands before and after (`session_…`) does not speak for it."""
    stretch = run.rstrip("=")
    if len(stretch) < SHORTEST_RANDOM or len(set(stretch)) < _FEWEST_SIGNS or not _DIGIT.search(stretch):
        return False
    best, total, weights = 0.0, 0.0, _weights()
    start = longest = 0
    for place, pair in enumerate(map(operator.add, run, run[1:])):
        total += weights[pair]
        if total <= 0:
            total, start = 0.0, place + 1
        elif total > best:
            best, longest = total, place + 2 - start
    return best >= _ENOUGH and longest >= 0.6 * len(stretch)


def _weight(pair: str) -> float:
    kind = "".join("l" if c.islower() else "U" if c.isupper() else "d" if c.isdigit() else "s" for c in pair)
    if kind in ("ll", "Ul", "UU"):
        kind += "+" if pair.lower() in COMMON_PAIRS else "-"
    return _WEIGHTS.get(kind, 0.0)


COMMON_PAIRS = frozenset(_COMMON.split())


@cache  # made for the first run that is weighed: most commands weigh none
def _weights() -> dict[str, float]:
    signs = string.ascii_letters + string.digits + "+/_-="
    return {one + other: _weight(one + other) for one in signs for other in signs}


Span = tuple[int, int, str]

BY_NAME = "a value whose name says that it is a secret"
RANDOM = "a random token"
_SHORTEST_VALUE, _SHORTEST_WITH_DIGIT, SHORTEST_RUN = 8, 6, 16
_LINE_ENDS = ("\\n", "\\r", "\\t")
_RECENT: RecentTexts[tuple[Span, ...]] = RecentTexts()
_NO_TEXT = lazy_pattern(rb"^[\x80-\xc1\xf5-\xff]|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What no text begins with, and what is in none."""
_PLAIN_BASE64 = str.maketrans("-_", "+/")
_HEAD, _DECODED_HEAD = 16, 12
"""Characters at the beginning of a run, and the bytes that they encode."""

_BEGINS_TEXT = lazy_pattern(
    rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})*"
    rb"(?:[\xc2-\xf4][\x80-\xbf]{0,2})?"
)
"""What may go on as a text in UTF-8: the last character may be cut off."""

_DEEPEST = 2
_MOST_DECODED = 8_192


def says_secret(path: tuple[str | int, ...]) -> bool:
    """Whether the key, or the header, at the end of a path is called like a secret."""
    name = path[-1] if path else None
    return isinstance(name, str) and (
        is_secret_key(name) or (path[-2:-1] == ("headers",) and is_secret_header(name))
    )


def may_be_secret(text: str) -> bool:
    """Whether what is called like a secret can be one: `string`, `none` and `hidden` stand for it."""
    return len(text) >= _SHORTEST_VALUE or (len(text) >= _SHORTEST_WITH_DIGIT and bool(_DIGIT.search(text)))


def likeness(text: str, path: tuple[str | int, ...] = ()) -> str | None:
    """What a text that stands at a path looks like, if it looks like a secret."""
    found = next(spans(text, path), None)
    if found is not None:
        return f"what looks like {found[2]}"
    return BY_NAME if may_be_secret(text) and says_secret(path) else None


def spans(text: str, path: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Span]:
    """Where in a text something looks like a secret, and what it looks like. They may overlap."""
    if len(text) < _SHORTEST_VALUE:
        return
    if depth or not keeps(text):
        yield from _spans(text, path, depth)
    else:
        yield from _RECENT.of(text, lambda: tuple(_spans(text, path, 0)), _may_be_random(path))


def _spans(text: str, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
    look = TextScan(text)
    yield from shapes_in(look)
    yield from shapeless(look, path, depth)


def _may_be_random(path: tuple[str | int, ...]) -> bool:
    """By the nearest keys: what stands in a list is called as the list is, `{from, to}` as what changed."""
    return any(map(may_be_random, [key for key in path if isinstance(key, str)][-2:]))


_LEAD = lazy_pattern(r"(?:<[^<>]{1,90}>|[^=:<]{1,40}[=:]\s{0,3}\\?[\"']?|(?i:bearer|basic)\s+)(?==*[^\s=])")


def secret_parts(text: str, path: tuple[str | int, ...] = ()) -> list[tuple[int, int]]:
    """Where in a text something looks like a secret, without its name or scheme (`token=`, `Bearer`), in
    order; what overlaps is one."""
    parts: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans(text, path)):
        if parts and start < parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], end))
            continue
        name = None if "://" in text[start:end] else _LEAD.match(text, start, end)
        parts.append((name.end() if name else start, end))
    return parts


def shapeless(look: TextScan, path: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Span]:
    """What is random, or encoded. A run that encodes a text is as secret as that text is."""
    text = look.text
    if not _may_be_random(path):
        for start, end in random_in(look):
            if decoded(text[start:end]) is None and not may_be_random(name_before(text, start)):
                yield start, end, RANDOM
    if depth < _DEEPEST:
        yield from _spans_encoded(look, path, depth)


def covered(
    text: str, path: tuple[str | int, ...] = (), mask: str = "***", plain: Container[str] = ()
) -> str:
    """The text with a mask over each such place; `plain`: runs that may be random and are no secret."""
    result, position = "", 0
    for start, end, what in sorted(spans(text, path)):
        if what == RANDOM and text[start:end] in plain:
            continue
        if start >= position:
            result += f"{text[position:start]}{mask} ({what})"
        position = max(position, end)
    return result + text[position:] if position else text


def long_runs(text: str) -> Iterator[str]:
    """What in a text could be taken for random elsewhere, where nothing says what it is."""
    look = TextScan(text)
    return (text[start : look.padded(stop)] for start, stop in look.runs(SHORTEST_RUN))


def _spans_encoded(look: TextScan, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
    text = look.text
    for start, end in _may_encode(look):
        inner = decoded(text[start:end])
        if inner is not None and (found := next(spans(inner, path, depth + 1), None)):
            yield start, end, f"{found[2]} in base64"
    for start, end in look.escaped_urls():
        inner = unquote(text[start:end])
        if inner != text[start:end] and (found := next(spans(inner, path, depth + 1), None)):
            yield start, end, found[2]


def _may_encode(look: TextScan) -> Iterator[tuple[int, int]]:
    """The runs whose first letters decode to what a text may begin with: those of all together, since most
    ids and checksums are told so."""
    text, runs = look.text, []
    for start, stop in look.runs(SHORTEST_RUN):
        if text[start - 1 : start + 1] in _LINE_ENDS and stop - start > SHORTEST_RUN:
            start += 1  # what is left of a line end that is written as an escape
        runs.append((start, look.padded(stop)))
    heads = a2b_base64("".join([text[start : start + _HEAD] for start, _ in runs]).translate(_PLAIN_BASE64))
    may_be_text = _BEGINS_TEXT.fullmatch
    for run, place in zip(runs, range(0, len(heads), _DECODED_HEAD), strict=True):
        if may_be_text(heads, place, place + _DECODED_HEAD):
            yield run


def decoded(run: str) -> str | None:
    """The text that a run encodes in base64, if it encodes one."""
    run = run[:_MOST_DECODED].rstrip("=").translate(_PLAIN_BASE64)
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        if _NO_TEXT.search(a2b_base64(run[:8])):
            return None
        text = a2b_base64(run + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None
