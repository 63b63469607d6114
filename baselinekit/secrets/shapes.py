"""Secrets that are known by their shape, and names of headers and keys under which secrets stand."""

import re
from collections.abc import Iterator
from functools import lru_cache

from baselinekit.secrets.randomness import TextScan

# Secrets that are known by their shape, wherever they stand in a text. Each shape has a word without
# which there is none of it: only where that stands is looked any closer.


_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""What `\\b` stands for below: where a word begins, also after a line end that is written as an escape."""
_NAMED = (
    r"(?:api[-_]?key|(?:auth|access|refresh|id|session|api)[-_]?token|token|(?:client[-_]?)?secret"
    r"|password|passwd|pwd)"
)
_STANDS_FOR = r"(?![<${*\[])"

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
    ("an AWS key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
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
        "a secret with its name",
        _NAMES,
        rf"(?i:(?<![a-z:]){_NAMED})\\?[\"']?\s{{0,3}}[=:]\s{{0,3}}\\?[\"']?{_STANDS_FOR}"
        r"(?=[^\s\"'<>,;&]{0,300}\d)(?=[^\s\"'<>,;&]{0,300}[A-Za-z])[^\s\"'<>,;&\\]{8,2000}",
    ),
)
_FOLDED = frozenset(("a signed URL", "a secret in a URL", "a credential", "a secret with its name"))
_BEFORE = {
    "a URL with a password": 22,
    "a signed URL": 1,
    "a secret in a URL": 9,
    "a secret with its name": 8,
}
"""How far before its word a shape can begin; else it begins with it."""
_FROM_WORD = {"a URL with a password": r"://[^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200}@"}
"""What a shape goes on with from its word, where the word alone is everywhere."""
_EACH = tuple(
    (
        what,
        tuple(word.encode() for word in words),
        what in _FOLDED,
        _BEFORE.get(what, 0),
        re.compile(_FROM_WORD.get(what, "")),
        re.compile(pattern.replace(r"\b", _EDGE)),
    )
    for what, words, pattern in _SHAPES
)

_SHORT = 400
_HINTS = re.compile(
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


# Names of headers and keys that say what stands there: a secret, or something random that is none.


_SECRET_HEADERS = re.compile(
    r"(?i)^(proxy-)?authorization$|^(set-)?cookie$"
    r"|(^|[-_])(token|secret|password|passwd|api-?key|access-?key|subscription-key|functions-key)$"
)
_SECRET_KEYS = re.compile(
    r"(?i)(^|[-_]|(?<=[a-z]))(token|secret|password|passwd|passphrase|credentials?"
    r"|(api|access|private|secret|signing|encryption)[-_]?key)$"
)
_PAGING = re.compile(r"(?i)page|next|cursor|sync|continuation")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_IDENTIFIERS = re.compile(
    r"ids?|uid|uuid|guid|gid|oid|pid|tid|keys?|refs?|slug|hash(es)?|digest|checksum|sha|md|crc|etags?|integrity"
    r"|fingerprint|thumbprint|signature|sig|version|revision|rev|commit|tree|blob|cursors?|token|nonce|arn|urn"
    r"|trace|span|request|correlation|object|node|name|path|file|filename|url|uri|href|links?|email|host|hostname"
    r"|address"
)
_PICTURES = re.compile(
    r"images?|img|pictures?|photos?|avatar|thumbnail|thumb|icons?|logo|banner|png|jpe?g|gif|webp|svg|pdf|qr(code)?"
    r"|barcode|base64|b64|bytes|binary|attachment|audio|video|font|embedding"
)


@lru_cache(1024)
def is_secret_header(name: str) -> bool:
    """Whether a header carries credentials by what it is called."""
    return bool(_SECRET_HEADERS.search(name))


@lru_cache(1024)
def is_secret_key(name: str) -> bool:
    """Whether what stands under a key is a secret by what the key is called; a page token is none."""
    return bool(_SECRET_KEYS.search(name)) and not _PAGING.search(name)


@lru_cache(1024)
def may_be_random(name: str) -> bool:
    """Whether what stands under a key is often random and no secret: an id, a checksum, a picture, a page
    token."""
    if is_secret_key(name):
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    ends_so = any(_IDENTIFIERS.fullmatch(word) for word in (*words[-1:], name.lower()))
    return ends_so or any(map(_PICTURES.fullmatch, words))
