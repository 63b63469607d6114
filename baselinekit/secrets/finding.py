"""Finds what looks like an undeclared secret in a text or a value, and masks it."""

import operator
from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Container, Iterator
from functools import cache
from urllib.parse import unquote

from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.names import is_secret_header, is_secret_key, may_be_random, name_before
from baselinekit.secrets.scan import ALPHANUMERIC, RecentTexts, TextScan, keeps

# Secrets that are recognised by their shape, anywhere in a text. Each shape contains a word: only where that
# word occurs is the pattern tried.

_WORD_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Replaces `\\b` below: the start of a word, also after a line end that is written as an escape."""
_SECRET_NAME = (
    r"(?:api[-_]?key|(?:auth|access|refresh|id|session|api)[-_]?token|token|(?:client[-_]?)?secret"
    r"|password|passwd|pwd)"
)
_NO_PLACEHOLDER = r"(?![<${*\[…])"

_NAME_WORDS = ("apikey", "api-key", "api_key", "token", "secret", "passw", "pwd")

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
        _NAME_WORDS,
        rf"(?i:[?&;]{_SECRET_NAME}=){_NO_PLACEHOLDER}(?=[^\s\"'<>&#]{{0,300}}\d)[^\s\"'<>&#]{{8,2000}}",
    ),
    (
        "a credential",
        ("bearer", "basic"),
        r"(?i:\b(?:bearer|basic)\s+)(?=[A-Za-z0-9._~+/-]{0,300}\d)[A-Za-z0-9._~+/-]{16,4000}=*",
    ),
    (
        "a secret in its element",
        _NAME_WORDS,
        r"(?i:<(?![\w.:-]*(?:page|next|cursor|sync|continuation))(?:[\w-]{1,40}:)?[\w.-]{0,40}"
        r"(?:token|secret|password|passwd|pwd|api[-_]?key|secret[-_]?(?:access[-_]?)?key)>)"
        r"(?=[^\s<>]{0,300}\d)[^\s<>]{8,8000}(?=</)",
    ),
    (
        "a secret with its name",
        _NAME_WORDS,
        rf"(?i:(?<![a-z:]){_SECRET_NAME})\\?[\"']?\s{{0,3}}[=:]\s{{0,3}}\\?[\"']?{_NO_PLACEHOLDER}"
        r"(?=[^\s\"'<>,;&]{0,300}\d)(?=[^\s\"'<>,;&]{0,300}[A-Za-z])[^\s\"'<>,;&\\]{8,2000}",
    ),
)
_IGNORES_CASE = frozenset(
    ("a secret in its element", "a signed URL", "a secret in a URL", "a credential", "a secret with its name")
)
_CHARS_BEFORE_WORD = {
    "a secret in its element": 82,
    "a URL with a password": 22,
    "a signed URL": 1,
    "a secret in a URL": 9,
    "a secret with its name": 8,
}
"""How many characters before its word a shape can start. All other shapes start with their word."""
_FROM_WORD = {
    "a URL with a password": r"://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@",
    "a secret in its element": r"[\w.-]{1,40}>[^\s<>]",
}
"""How a shape continues from its word, for words that occur very often."""
_COMPILED_SHAPES = tuple(
    (
        kind,
        tuple(word.encode() for word in words),
        kind in _IGNORES_CASE,
        _CHARS_BEFORE_WORD.get(kind, 0),
        lazy_pattern(_FROM_WORD.get(kind, "")),
        lazy_pattern(pattern.replace(r"\b", _WORD_START)),
    )
    for kind, words, pattern in _SHAPES
)

_MAX_SHORT_TEXT = 400
_ANY_SHAPE = lazy_pattern(
    r"eyJ|-----BEGIN|(?:sk|pk|rk|hf|npm|pypi|v1|SG|whsec|gh[pousr]|pat|glpat|xox[abeoprs]|xapp)[-_.]|AKIA|ASIA|AIza"
    r"|ya29|GOCSPX|webhook|hooks\.|://[^\s/]*@|(?i:sig[a-z]*=|security-token=|bearer|basic|token|secret|passw|pwd"
    r"|api[-_]?key)"
)
"""Matches a part of every shape. In a short text it is faster than searching for each word."""


def shapes_in(scan: TextScan) -> Iterator[tuple[int, int, str]]:
    """Yield the places in a text that have a known shape, and what they are."""
    if len(scan.text) < _MAX_SHORT_TEXT and not _ANY_SHAPE.search(scan.text):
        return
    for kind, words, ignore_case, chars_before, from_word, pattern in _COMPILED_SHAPES:
        end = 0
        for place in scan.words(words, ignore_case):
            if place < end or not from_word.match(scan.text, place):
                continue
            starts = range(max(end, place - chars_before), place + 1)
            match = next(filter(None, (pattern.match(scan.text, start) for start in starts)), None)
            if match:
                end = match.end()
                yield match.start(), end, kind


# Runs of letters and digits that are random, judged by the pairs of characters in them.

SHORTEST_RANDOM, _LONGEST = 20, 200
_MIN_WEIGHT = 12.0
"""A run with at least this sum of weights counts as random."""

_RANDOM_ALLOWED = lazy_pattern(
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>]*"  # an address: secrets in it have names, and so shapes
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
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+="  # a name in capitals and the `=` of an assignment: not padding
)
_SMALL = lazy_pattern(r"[a-z0-9]{24,}")
_HEX = lazy_pattern(r"[0-9a-f]+")
_CHECKSUM = lazy_pattern(r"[0-9a-f]{16,}")
_MIN_NON_HEX, _MIN_DISTINCT = 3, 10
_LETTER_DIGIT_CHANGE = lazy_pattern(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)")
_MIN_CHANGE_RATE = 0.22
"""In lower-case letters and digits, the rate of changes between the two: that of ids is lower."""
_KNOWN_DATA = lazy_pattern(r"iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|PHN2Zy|PD94bW|H4sI|UEsDB|T2dnU|AAAA")

_COMMON = (
    "ab ac ad ag ai al am an ap ar as at au ay ba be bi bl bo bu ca ce ch ci ck cl co cr ct cu da de di"
    " do ds ea ec ed ee ef eg el em en ep er es et ev ex fa fe ff fi fo fr ge gi gs ha he hi ho ia ib ic"
    " id ie if ig il im in io ip ir is it iv iz ke la ld le li ll lo ls lt lu ly ma me mi mo mp na nc nd"
    " ne nf ng ni no ns nt nu ob oc od ok ol om on oo op or os ot ou ow pa pe pi pl po pp pr pt pu qu ra"
    " rc rd re rg ri rm rn ro rr rs rt ry sa sc se sh si so sp ss st su ta tc te th ti to tr ts tt tu ty"
    " ub ue ul um un up ur us ut va ve vi wa we xt yp ze"
)
"""The pairs of letters that make up 85 % of the pairs in the words of answers and programs."""

_WEIGHTS = {"ll+": -2.3, "ll-": 0.75, "Ul+": 1.1, "Ul-": 3.1, "UU+": 0.5, "UU-": 2.6}
_WEIGHTS |= {"lU": 2.5, "ld": 1.2, "dl": 1.2, "Ud": 3.3, "dU": 3.4, "dd": -1.7}
_WEIGHTS |= {"ls": -2.3, "sl": -2.3, "Us": 0.7, "sU": 0.0, "sd": -1.8, "ds": -1.7, "ss": -1.0}


def random_in(scan: TextScan) -> Iterator[tuple[int, int]]:
    """Yield the random runs of a text."""
    text, allowed_places = scan.text, _AllowedPlaces(scan)
    for start, stop in scan.runs(SHORTEST_RANDOM):
        end = scan.padded(stop)
        run = text[start:end]
        if not _DIGIT.search(run) or _UUID.fullmatch(run):
            continue
        run = _CHECKSUM.sub("", run)
        if len(run) > _LONGEST or _ID.fullmatch(run) or _KNOWN_DATA.match(run):
            continue
        if (_is_random(run) or _alternates(run)) and not allowed_places.holds(start, end):
            yield start, end


class _AllowedPlaces:
    """The places in a text where random runs are allowed: addresses, paths, checksums and the like. They are
    only searched for around random runs, not in all of a long text."""

    def __init__(self, scan: TextScan):
        self._scan = scan
        self._chunk = (0, 0)
        self._in_chunk: list[tuple[int, int]] = []
        self._long: list[tuple[int, int]] | None = None

    def holds(self, start: int, end: int) -> bool:
        chunk = self._scan.chunk(start, end)
        if chunk != self._chunk:
            self._chunk = chunk
            self._in_chunk = [match.span() for match in _RANDOM_ALLOWED.finditer(self._scan.text, *chunk)]
        if _overlaps(self._in_chunk, start, end):
            return True
        if self._long is None:  # places with blanks in them, or only at the end of the text
            text = self._scan.text
            pem = _PEM.finditer(text) if b"-----BEGIN " in self._scan.data else ()
            tag = _TAG.finditer(text, max(0, len(text.rstrip()) - 200))
            self._long = sorted(match.span() for match in (*pem, *tag))
        return _overlaps(self._long, start, end)


def _overlaps(places: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of the sorted places overlaps with a run."""
    index = bisect_left(places, (end,)) - 1
    return index >= 0 and places[index][1] > start


def _alternates(run: str) -> bool:
    """Whether lower-case letters and digits alternate. If all of them are hexadecimal, it is a checksum or
    id."""
    return any(
        len(_LETTER_DIGIT_CHANGE.findall(part)) >= _MIN_CHANGE_RATE * len(part)
        and len(_HEX.sub("", part)) > _MIN_NON_HEX
        for part in _SMALL.findall(run)
    )


def _is_random(run: str) -> bool:
    """Whether most of a run is random by its weights. Its start and end (`session_…`) may be ordinary
    words."""
    core = run.rstrip("=")
    if len(core) < SHORTEST_RANDOM or len(set(core)) < _MIN_DISTINCT or not _DIGIT.search(core):
        return False
    best_weight, weight, weights = 0.0, 0.0, _pair_weights()
    start = best_length = 0
    for index, pair in enumerate(map(operator.add, run, run[1:])):
        weight += weights[pair]
        if weight <= 0:
            weight, start = 0.0, index + 1
        elif weight > best_weight:
            best_weight, best_length = weight, index + 2 - start
    return best_weight >= _MIN_WEIGHT and best_length >= 0.6 * len(core)


def _weight(pair: str) -> float:
    kind = "".join("l" if c.islower() else "U" if c.isupper() else "d" if c.isdigit() else "s" for c in pair)
    if kind in ("ll", "Ul", "UU"):
        kind += "+" if pair.lower() in COMMON_PAIRS else "-"
    return _WEIGHTS.get(kind, 0.0)


COMMON_PAIRS = frozenset(_COMMON.split())


@cache  # computed on demand: most commands do not need it
def _pair_weights() -> dict[str, float]:
    characters = ALPHANUMERIC + "+/_-="
    return {first + second: _weight(first + second) for first in characters for second in characters}


Span = tuple[int, int, str]

BY_NAME = "a value whose name says that it is a secret"
RANDOM = "a random token"
_SHORTEST_VALUE, _SHORTEST_WITH_DIGIT, SHORTEST_RUN = 8, 6, 16
_LINE_ENDS = ("\\n", "\\r", "\\t")
_RECENT: RecentTexts[tuple[Span, ...]] = RecentTexts()
_NOT_TEXT = lazy_pattern(rb"^[\x80-\xc1\xf5-\xff]|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Bytes that no text starts with, or that no text contains."""
_PLAIN_BASE64 = str.maketrans("-_", "+/")
_HEAD_CHARS, _HEAD_BYTES = 16, 12
"""The number of characters at the start of a run that are decoded first, and of the bytes that they
encode."""

_TEXT_START = lazy_pattern(
    rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})*"
    rb"(?:[\xc2-\xf4][\x80-\xbf]{0,2})?"
)
"""The possible start of a text in UTF-8: the last character may be incomplete."""

_MAX_DEPTH = 2
_MAX_DECODED_CHARS = 8_192


def has_secret_name(path: tuple[str | int, ...]) -> bool:
    """Whether the key or header at the end of a path is named like a secret."""
    name = path[-1] if path else None
    return isinstance(name, str) and (
        is_secret_key(name) or (path[-2:-1] == ("headers",) and is_secret_header(name))
    )


def may_be_secret(text: str) -> bool:
    """Whether a value that is named like a secret can be one. Short words such as `string` and `none`
    cannot."""
    return len(text) >= _SHORTEST_VALUE or (len(text) >= _SHORTEST_WITH_DIGIT and bool(_DIGIT.search(text)))


def likeness(text: str, path: tuple[str | int, ...] = ()) -> str | None:
    """Describe what secret a text at a path looks like; None if it does not look like one."""
    span = next(spans(text, path), None)
    if span is not None:
        return f"what looks like {span[2]}"
    return BY_NAME if may_be_secret(text) and has_secret_name(path) else None


def spans(text: str, path: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Span]:
    """Yield the places in a text that look like a secret, and what they look like. Places may overlap."""
    if len(text) < _SHORTEST_VALUE:
        return
    if depth or not keeps(text):
        yield from _spans(text, path, depth)
    else:
        yield from _RECENT.of(text, lambda: tuple(_spans(text, path, 0)), _may_be_random(path))


def _spans(text: str, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
    scan = TextScan(text)
    yield from shapes_in(scan)
    yield from find_random_or_encoded(scan, path, depth)


def _may_be_random(path: tuple[str | int, ...]) -> bool:
    """Whether the value at a path may be random, by the two nearest keys: an item of a list has the list's
    name, and `{from, to}` has the name of what changed."""
    return any(map(may_be_random, [key for key in path if isinstance(key, str)][-2:]))


_NAME_PREFIX = lazy_pattern(
    r"(?:<[^<>]{1,90}>|[^=:<]{1,40}[=:]\s{0,3}\\?[\"']?|(?i:bearer|basic)\s+)(?==*[^\s=])"
)


def secret_parts(text: str, path: tuple[str | int, ...] = ()) -> list[tuple[int, int]]:
    """Return the places in a text that look like a secret, without its name or scheme (`token=`, `Bearer`),
    in order, with overlapping ones merged."""
    parts: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans(text, path)):
        if parts and start < parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], end))
            continue
        name = None if "://" in text[start:end] else _NAME_PREFIX.match(text, start, end)
        parts.append((name.end() if name else start, end))
    return parts


def find_random_or_encoded(
    scan: TextScan, path: tuple[str | int, ...] = (), depth: int = 0
) -> Iterator[Span]:
    """Yield random runs, and runs that encode a text in which something looks like a secret."""
    text = scan.text
    if not _may_be_random(path):
        for start, end in random_in(scan):
            if decoded(text[start:end]) is None and not may_be_random(name_before(text, start)):
                yield start, end, RANDOM
    if depth < _MAX_DEPTH:
        yield from _spans_encoded(scan, path, depth)


def mask_secrets(
    text: str, path: tuple[str | int, ...] = (), mask: str = "***", plain: Container[str] = ()
) -> str:
    """Return the text with a mask over each such place. `plain`: random runs that are not secrets."""
    result, position = "", 0
    for start, end, kind in sorted(spans(text, path)):
        if kind == RANDOM and text[start:end] in plain:
            continue
        if start >= position:
            result += f"{text[position:start]}{mask} ({kind})"
        position = max(position, end)
    return result + text[position:] if position else text


def long_runs(text: str) -> Iterator[str]:
    """Yield the runs of a text that could be taken for random in another context."""
    scan = TextScan(text)
    return (text[start : scan.padded(stop)] for start, stop in scan.runs(SHORTEST_RUN))


def _spans_encoded(scan: TextScan, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
    text = scan.text
    for start, end in _may_encode(scan):
        inner = decoded(text[start:end])
        if inner is not None and (span := next(spans(inner, path, depth + 1), None)):
            yield start, end, f"{span[2]} in base64"
    for start, end in scan.escaped_urls():
        inner = unquote(text[start:end])
        if inner != text[start:end] and (span := next(spans(inner, path, depth + 1), None)):
            yield start, end, span[2]


def _may_encode(scan: TextScan) -> Iterator[tuple[int, int]]:
    """Yield the runs whose first characters decode to the possible start of a text. Those of all runs are
    decoded together, which excludes most ids and checksums."""
    text, runs = scan.text, []
    for start, stop in scan.runs(SHORTEST_RUN):
        if text[start - 1 : start + 1] in _LINE_ENDS and stop - start > SHORTEST_RUN:
            start += 1  # the letter of a line end that is written as an escape
        runs.append((start, scan.padded(stop)))
    decoded_heads = a2b_base64(
        "".join([text[start : start + _HEAD_CHARS] for start, _ in runs]).translate(_PLAIN_BASE64)
    )
    is_text_start = _TEXT_START.fullmatch
    for run, position in zip(runs, range(0, len(decoded_heads), _HEAD_BYTES), strict=True):
        if is_text_start(decoded_heads, position, position + _HEAD_BYTES):
            yield run


def decoded(run: str) -> str | None:
    """Return the text that a run encodes in base64, if it encodes one."""
    run = run[:_MAX_DECODED_CHARS].rstrip("=").translate(_PLAIN_BASE64)
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        if _NOT_TEXT.search(a2b_base64(run[:8])):
            return None
        text = a2b_base64(run + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None
