"""The methods of HTTP that are known, and which of them a mistyped word means."""

from itertools import pairwise

_METHODS = (
    "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY",  # RFC 9110, 5789 and QUERY
    "PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH ACL REPORT BIND UNBIND REBIND LINK UNLINK"
    " ORDERPATCH MKCALENDAR MKACTIVITY MKWORKSPACE MKREDIRECTREF UPDATEREDIRECTREF CHECKIN CHECKOUT"
    " UNCHECKOUT MERGE UPDATE LABEL VERSION-CONTROL BASELINE-CONTROL",  # WebDAV and its extensions
    "PURGE BAN SUBSCRIBE UNSUBSCRIBE NOTIFY M-SEARCH",  # caches and UPnP
)
KNOWN = frozenset(word for words in _METHODS for word in words.split())


def meant_method(word: str) -> str:
    """The known method from which a word differs by one slip of the finger: a letter too many, too few or
    another one, or two neighbours in the wrong order. Empty for a known method, and for one that is like
    none: it is somebody's own. The methods that are used most come first."""
    word = word.upper()
    if word in KNOWN or len(word) < 2:
        return ""
    common = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    candidates = [*common, *sorted(KNOWN.difference(common))]
    return next((method for method in candidates if _is_one_slip(word, method)), "")


def _is_one_slip(word: str, method: str) -> bool:
    if abs(len(word) - len(method)) > 1:
        return False
    shorter, longer = sorted((word, method), key=len)
    if len(shorter) < len(longer):
        return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
    places = [at for at, (left, right) in enumerate(zip(word, method, strict=True)) if left != right]
    if len(places) == 1:
        return True
    return any(
        places == [first, second] and word[first] + word[second] == method[second] + method[first]
        for first, second in pairwise(range(len(word)))
    )
