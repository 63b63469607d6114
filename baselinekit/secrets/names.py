"""Names of headers, keys and elements that say what their value is: a secret, or something random that is no
secret."""

from functools import lru_cache

from baselinekit.lazy import lazy_pattern

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
_WORD = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

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
    words = [word.lower() for word in _WORD.findall(name)]
    is_identifier = any(_IDENTIFIERS.fullmatch(word) for word in (*words[-1:], name.lower()))
    return is_identifier or any(map(_PICTURES.fullmatch, words))


_MARKUP_NAME = lazy_pattern(
    r"(?:<(?:[\w-]{1,40}:)?([\w.-]{1,80})(?: [^<>\n]{0,200})?>|([\w-]{1,80})\\?[\"']?[=:] ?\\?[\"'])\Z"
)
_MAX_CONTEXT = 330


def name_before(text: str, start: int) -> str:
    """Return the name of a place in a text: that of the element, attribute or quoted key right before it."""
    match = _MARKUP_NAME.search(text, max(0, start - _MAX_CONTEXT), start)
    return (match[1] or match[2]) if match else ""
