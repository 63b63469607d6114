"""Finds what looks like an undeclared secret in a text or a value, and masks it."""

import re
from binascii import a2b_base64
from collections.abc import Container, Iterator
from functools import lru_cache
from urllib.parse import unquote

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Path
from baselinekit.secrets.declared import merge_spans, replaced

# Names of headers, keys and elements that say what their value is: a secret, or random and none.

_SECRET_HEADERS = lazy_pattern(
    r"(?i)^(proxy-)?authorization$|^(set-)?cookie$"
    r"|(^|[-_])(token|secret|password|passwd|api-?key|access-?key|subscription-key|functions-key)$"
)
_SECRET_KEYS = lazy_pattern(
    r"(?i)(^|[-_]|(?<=[a-z]))(token|secret|password|passwd|passphrase|credentials?"
    r"|(api|access|private|secret|signing|encryption)[-_]?key)$"
    r"|^(proxy-)?authorization$|^(set-)?cookie$"
)
_PAGING = lazy_pattern(r"(?i)page|next|cursor|sync|continuation")
_WORD_OF_NAME = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_IDENTIFIERS = lazy_pattern(
    r"ids?|uid|uuid|guid|gid|oid|pid|tid|keys?|refs?|slug|hash(es)?|digest|checksum|sha|md|crc|etags?|integrity"
    r"|fingerprint|thumbprint|signature|sig|version|revision|rev|commit|tree|blob|cursors?|token|nonce|arn|urn"
    r"|trace|span|request|correlation|object|node|name|path|file|filename|url|uri|href|links?|email|host|hostname"
    r"|address"
)
_PICTURES = lazy_pattern(
    r"images?|img|pictures?|photos?|avatar|thumbnail|thumb|icons?|logo|banner|png|jpe?g|gif|webp|svg|pdf|qr(code)?"
    r"|barcode|base64|b64|bytes|binary|attachment|audio|video|font|embedding"
)


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """Whether a header carries credentials, by its name."""
    return bool(_SECRET_HEADERS.search(name))


@lru_cache(1024)
def is_secret_key(name: str) -> bool:
    """Whether the value of a key is a secret, by the key's name. A page token is none."""
    return bool(_SECRET_KEYS.search(name)) and not _PAGING.search(name)


@lru_cache(1024)
def may_be_random(name: str) -> bool:
    """Whether the value of a key is often random and no secret: an id, a checksum, a picture, a page
    token."""
    if is_secret_key(name):
        return False
    words = [word.lower() for word in _WORD_OF_NAME.findall(name)]
    is_identifier = any(_IDENTIFIERS.fullmatch(word) for word in (*words[-1:], name.lower()))
    return is_identifier or any(map(_PICTURES.fullmatch, words))


# The name of a place in a text: the element, attribute or quoted key right before it.
_MARKUP_NAME = lazy_pattern(
    r"(?:<(?:[\w-]{1,40}:)?([\w.-]{1,80})(?: [^<>\n]{0,200})?>|([\w-]{1,80})\\?[\"']?[=:] ?\\?[\"'])\Z"
)
_MAX_CONTEXT = 330


# Texts.

Span = tuple[int, int, str]

BY_NAME = "a value with the name of a secret"
RANDOM = "a random token"
_SHORTEST, _SHORTEST_WITH_DIGIT = 8, 6
_MOST_DECODED = 8_192
"""An encoded secret is found at the start of a longer run, or not at all: a picture is not decoded."""

# What is recognised by its shape, anywhere in a text.

_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""The start of a word, also after a line end that is written as an escape."""
_NAME = (
    r"(?:api[-_]?key|(?:auth|access|refresh|id|session|api)[-_]?token|token|(?:client[-_]?)?secret"
    r"|password|passwd|pwd)"
)
_NAMED = "apikey api-key api_key token secret passw pwd"
_NO_PLACEHOLDER = r"(?![<${*\[…])"

SHAPES = {
    "a JSON Web Token": (
        "eyj",
        _START + r"eyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{8,2000}",
    ),
    "a private key": (
        "-----begin ",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
        r"(?:[A-Za-z0-9+/=\\\s:,-]{0,8000}?-----END [A-Z ]{0,40}KEY-----)?",
    ),
    "an API key": (
        "sk- sk_ pk- pk_ rk- rk_ hf_ npm_ pypi- dop_v1_ sg. whsec_",
        _START + r"(?:(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)[-_][A-Za-z0-9_-]{16,}"
        r"|sk-[A-Za-z0-9]{32,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_-]{50,}"
        r"|dop_v1_[a-f0-9]{64}|SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    "a GitHub token": (
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    "a GitLab token": ("glpat-", _START + r"glpat-[A-Za-z0-9_-]{20,}"),
    "an AWS key": ("akia asia", _START + r"(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    "a Slack token": ("xox xapp-", _START + r"(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})"),
    "a Google API key": (
        "aiza ya29. gocspx-",
        _START + r"(?:AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})",
    ),
    "a webhook": (
        "hooks.slack.com/ discord.com/ discordapp.com/",
        _START + r"(?:hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
        r"|discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{30,})",
    ),
    "a URL with a password": (
        "@",
        _START + r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@",
    ),
    "a signed URL": (
        "x-amz-signature= x-goog-signature= x-amz-security-token= sig=",
        r"(?i:[?&](?:x-(?:amz|goog)-signature|x-amz-security-token|sig)=[A-Za-z0-9%+/_=-]{30,})",
    ),
    "a secret in a URL": (
        _NAMED,
        rf"(?i:[?&;]{_NAME}=){_NO_PLACEHOLDER}(?=[^\s\"'<>&#]{{0,300}}\d)[^\s\"'<>&#]{{8,2000}}",
    ),
    "a credential": (
        "bearer basic",
        rf"(?i:{_START}(?:bearer|basic)\s+)(?=[A-Za-z0-9._~+/-]{{0,300}}\d)[A-Za-z0-9._~+/-]{{16,4000}}=*",
    ),
    "a secret in its element": (
        _NAMED,
        r"(?i:<(?![\w.:-]{0,80}(?:page|next|cursor|sync|continuation))(?:[\w-]{1,40}:)?[\w.-]{0,40}"
        r"(?:token|secret|password|passwd|pwd|api[-_]?key|secret[-_]?(?:access[-_]?)?key)>)"
        r"(?=[^\s<>]{0,300}\d)[^\s<>]{8,8000}(?=</)",
    ),
    "a secret with its name": (
        _NAMED,
        rf"(?i:(?<![a-z:]){_NAME})\\?[\"']?\s{{0,3}}[=:]\s{{0,3}}\\?[\"']?{_NO_PLACEHOLDER}"
        r"(?=[^\s\"'<>,;&]{0,300}\d)(?=[^\s\"'<>,;&]{0,300}[A-Za-z])[^\s\"'<>,;&\\]{8,2000}",
    ),
}
"""What a secret looks like: words, in lower case, one of them in each text that the pattern matches; and the
pattern."""


_WORDS = frozenset(" ".join(words for words, _ in SHAPES.values()).split())

# What looks random, and what is encoded: runs of letters, digits and `+/_-`.

_RUN = r"(?:(?<=\\)[nrt])?([A-Za-z0-9+/_-]{16,}={0,2})"
"""Without the letter of an escaped line end before it."""
_SHORTEST_RANDOM, _LONGEST_RANDOM = 20, 200
_ORDINARY = (
    r"[0-9a-fA-F]+\Z|c[a-z0-9]{24}\Z"
    r"|iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|PHN2Zy|PD94bW|H4sI|UEsDB|T2dnU|AAAA"
)
"""Hexadecimal digits, a CUID, and the starts of pictures, documents and archives in base64."""
_WORDS_AROUND = r"\A(?:[A-Za-z]{2,12}[_-])+|(?:[_-][A-Za-z]{2,12})+\Z"
_CHECKSUM = r"[0-9a-f]{16,}"
_TURN = (
    r"(?<=[a-z])[A-Z](?![a-z]{3})|(?<=[A-Z])[a-z](?![a-z])"
    r"|(?<=[A-Za-z])\d|(?<=\d)[a-z]|(?<=\d)[A-Z](?![a-z]{2})"
)
"""Where a run changes between capitals, small letters and digits as words seldom do."""
_MOST_ORDERLY = 0.27
"""The rate of such changes at which a run counts as random: in names it is below 0.2, by chance 0.45."""
_MOST_ORDERLY_SMALL = 0.22
"""The same for small letters and digits, more than three of them not hexadecimal."""
_SHORTEST_RUN, _LEAST_TURNS = 6, 0.2
_LEAST_DISTINCT, _LEAST_NON_HEX = 10, 4
_ALLOWED = (
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>]*"  # an address: secrets in it have names, and so shapes
    r"|\bdata:[\w.+-]+/[\w.+-]+[;,][^\s\"'<>)]*"
    r"|(?<![A-Za-z0-9+/_=-])\.{0,2}/(?![A-Za-z0-9/]*[+=])[^\s\"'<>]*"  # a path
    r"|\b(?i:sha-?(?:1|224|256|384|512)|md5)[-:=][A-Za-z0-9+/_-]+=*"
    r"|-----BEGIN [A-Z ]{0,40}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,40}-----[^-]*"
    r"|\b(?i:W/)?\"[^\"\s]{1,80}\"(?=\s*$)"  # an ETag
)


def _is_random(run: str) -> bool:
    """Whether a run of letters and digits looks random. Its start and end may be words (`session_…`)."""
    is_mixed = not run.islower() and not run.isupper() and re.search("[0-9]", run)
    if not is_mixed and not re.search("[a-z0-9]{24}", run):
        return False
    core = re.sub(_CHECKSUM, "", run).rstrip("=")
    core = re.sub(_WORDS_AROUND, "", core) if len(core) <= _LONGEST_RANDOM else ""
    if len(core) < _SHORTEST_RANDOM or len(set(core)) < _LEAST_DISTINCT or re.match(_ORDINARY, core):
        return False
    if all(re.search(some, core) for some in ("[a-z]", "[A-Z]", "[0-9]", "[A-Za-z0-9]{12}")):
        return len(re.findall(_TURN, core)) >= _MOST_ORDERLY * len(core)
    return any(
        len(re.findall(_TURN, part)) >= _MOST_ORDERLY_SMALL * len(part)
        and len(re.sub("[0-9a-f]", "", part)) >= _LEAST_NON_HEX
        for part in re.findall("[a-z0-9]{24,}", core)
    )


def count_turns(run: str) -> int:
    """Count the changes between capitals, small letters and digits that words seldom have."""
    return len(re.findall(_TURN, run))


def is_random(run: str) -> bool:
    """Whether a run of letters and digits is neither a word nor a name nor a number. Of a short one this is
    a guess: a longer one that looks like a secret must have more such changes."""
    return len(run) >= _SHORTEST_RUN and count_turns(run) >= max(2, _LEAST_TURNS * len(run))


def spans(text: str, path: Path = (), encoded: bool = True) -> Iterator[Span]:
    """Yield the places in a text that look like a secret, and what they look like. Places may overlap.
    `encoded`: also in what is encoded in base64 or for a URL."""
    if len(text) < _SHORTEST:
        return
    lower = text.casefold()
    found_words = {word for word in _WORDS if word in lower}
    for kind, (words, pattern) in SHAPES.items() if found_words else ():
        if not found_words.isdisjoint(words.split()):
            yield from ((*match.span(), kind) for match in re.finditer(pattern, text))
    if not any(map(may_be_random, [key for key in path if isinstance(key, str)][-2:])):
        for start, end in random_in(text):
            before = _MARKUP_NAME.search(text, max(0, start - _MAX_CONTEXT), start)
            name = (before[1] or before[2]) if before else ""
            if _decoded(text[start:end]) is None and not may_be_random(name):
                yield start, end, RANDOM
    if encoded:
        for run in re.finditer(_RUN, text):
            if (inner := _decoded(run[1])) and (found := next(spans(inner, path, encoded=False), None)):
                yield *run.span(1), f"{found[2]} in base64"
        for run in re.finditer(r"[\w.~%+/=:@;-]{8,}", text) if "%" in text else ():
            inner = unquote(run[0])
            if inner != run[0] and (found := next(spans(inner, path, encoded=False), None)):
                yield *run.span(), found[2]


def random_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the random runs of a text that are not allowed where they are, as a checksum is, and a part of an
    address."""
    runs = [run for run in re.finditer(_RUN, text) if _is_random(run[1])]
    rest = re.sub(_ALLOWED, lambda allowed: " " * len(allowed[0]), text) if runs else ""
    yield from (run.span(1) for run in runs if rest[slice(*run.span(1))] == run[1])


def random_texts(text: str) -> Iterator[str]:
    """Yield the runs of a text that look random in a context that does not allow them."""
    return (run[1] for run in re.finditer(_RUN, text) if _is_random(run[1]))


def _decoded(run: str) -> str | None:
    """Return the text that a run encodes in base64, if it encodes one."""
    run = run[:_MOST_DECODED].rstrip("=").replace("-", "+").replace("_", "/")
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        text = a2b_base64(run + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return None
    return text if re.sub(r"[\n\r\t]", "", text).isprintable() else None


def has_secret_name(path: Path) -> bool:
    """Whether the key or header at the end of a path is named like a secret."""
    name = path[-1] if path else None
    is_header = path[-2:-1] == ("headers",)
    return isinstance(name, str) and (is_secret_key(name) or (is_header and is_secret_header(name)))


def may_be_secret(text: str) -> bool:
    """Whether a value that is named like a secret can be one. Short words such as `string` and `none`
    cannot."""
    return len(text) >= _SHORTEST or (len(text) >= _SHORTEST_WITH_DIGIT and bool(re.search("[0-9]", text)))


def likeness(text: str, path: Path = ()) -> str | None:
    """Describe what secret a text at a path looks like; None if it does not look like one."""
    span = next(spans(text, path), None)
    if span is not None:
        return f"what looks like {span[2]}"
    return BY_NAME if may_be_secret(text) and has_secret_name(path) else None


_BEFORE_VALUE = r"(?:<[^<>]{1,90}>|[^=:<]{1,40}[=:]\s{0,3}\\?[\"']?|(?i:bearer|basic)\s+)(?==*[^\s=])"


def secret_parts(text: str, path: Path = ()) -> list[tuple[int, int]]:
    """Return the places in a text that look like a secret, without its name or scheme (`token=`, `Bearer`),
    in order, with overlapping ones merged."""
    parts: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans(text, path)):
        if parts and start < parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], end))
            continue
        name = None if "://" in text[start:end] else re.compile(_BEFORE_VALUE).match(text, start, end)
        parts.append((name.end() if name else start, end))
    return parts


def mask_secrets(text: str, path: Path = (), mask: str = "***", plain: Container[str] = ()) -> str:
    """Return the text with a mask over each such place. `plain`: random runs that are not secrets."""
    found = (one for one in spans(text, path) if one[2] != RANDOM or text[one[0] : one[1]] not in plain)
    return replaced(text, ((start, end, f"{mask} ({kind})") for start, end, kind in merge_spans(found)))
