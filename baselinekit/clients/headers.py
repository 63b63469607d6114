"""Which headers are sent, and which may be: none that ends a message or names its receiver."""

from collections.abc import Mapping

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text

FRAMING = lazy_pattern(
    r"(?i)host|content-length|transfer-encoding|(proxy-)?connection|keep-alive|te|trailer|upgrade|expect"
)
_NAME = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_BAD_VALUE = lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f]")


def header_fault(name: str, value: str) -> tuple[str, str] | None:
    """Return why a header cannot be sent, and what to do."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is not a header name", "letters, digits and `-`"
    if FRAMING.fullmatch(name):
        return f"the header {name} cannot be set", "leave it out: it is derived from the URL and the body"
    if _BAD_VALUE.search(value):
        return f"a line break or control character in the header {name}", "remove it"
    return None


def merged(*given: Mapping[str, Json]) -> dict[str, tuple[str, str]]:
    """Merge headers: a later one replaces an earlier one of its name. By lower-case name: the name
    as written, and the value."""
    pairs = (pair for headers in given for pair in headers.items())
    return {name.lower(): (name, as_text(value).strip(" \t")) for name, value in pairs}
