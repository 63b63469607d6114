"""The methods of HTTP that are known, and which of them a mistyped word means."""

from difflib import get_close_matches

_COMMON = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_METHODS = (
    "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY",  # RFC 9110, 5789 and QUERY
    "PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH ACL REPORT BIND UNBIND REBIND LINK UNLINK"
    " ORDERPATCH MKCALENDAR MKACTIVITY MKWORKSPACE MKREDIRECTREF UPDATEREDIRECTREF CHECKIN CHECKOUT"
    " UNCHECKOUT MERGE UPDATE LABEL VERSION-CONTROL BASELINE-CONTROL",  # WebDAV and its extensions
    "PURGE BAN SUBSCRIBE UNSUBSCRIBE NOTIFY M-SEARCH",  # caches and UPnP
)
KNOWN = frozenset(word for words in _METHODS for word in words.split())


def meant_method(word: str) -> str:
    """The common method that a word is nearly; empty for a known method, and for a word that is like none: it
    is a method of the server's own."""
    if word.upper() in KNOWN:
        return ""
    return next(iter(get_close_matches(word.upper(), _COMMON, 1, cutoff=0.66)), "")
