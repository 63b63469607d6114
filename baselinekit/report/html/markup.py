"""HTML that cannot be broken out of: whatever is no `Markup` is escaped, and only this file makes Markup.

There are few elements and attributes in a report, so both are listed, and nothing that runs, loads or leads
anywhere is among them: a template language, which escapes by default and lets all of that through, would be a
dependency that promises less."""

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

from baselinekit.escape import html

_EMPTY = {"input", "meta"}
_ELEMENTS = {
    *_EMPTY,
    *("aside", "b", "body", "button", "caption", "code", "dd", "details", "div", "dl", "dt", "fieldset"),
    *("footer", "h1", "h2", "h3", "head", "header", "kbd", "label", "legend", "li", "main", "mark", "ol"),
    "p",
    *("section", "small", "span", "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul"),
    *("svg", "rect", "circle", "polyline"),
}
_ATTRIBUTES = {
    *("id", "class", "type", "name", "value", "role", "scope", "hidden", "open", "checked", "content"),
    *("charset", "http-equiv", "placeholder", "autocomplete", "spellcheck", "data-outcome", "data-do"),
    *("aria-label", "aria-live", "aria-hidden"),
    *("viewBox", "width", "height", "x", "y", "cx", "cy", "r", "points"),
}

Value = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | None | Iterable["str | None"]


def element(tag: str, *children: Child, **attributes: Value) -> Markup:
    """An element. `class_="x"` and `aria_label="y"` are attributes; None and False are left out."""
    if tag not in _ELEMENTS:
        raise ValueError(f"no element of a report: {tag}")
    start = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    if tag in _EMPTY:
        return Markup(start)
    return Markup(f"{start}{joined(*children)}</{tag}>")


def joined(*children: Child) -> Markup:
    """One after the other, each escaped unless it is Markup."""
    parts = []
    for child in children:
        if isinstance(child, str):
            parts.append(child if isinstance(child, Markup) else html(child))
        elif child is not None:
            parts.append(joined(*child))
    return Markup("".join(parts))


def read_asset(name: str) -> str:
    """`page.css` or `page.js`, which stand beside this file. The script only adds filters: a report is read
    without it."""
    return Path(__file__).with_name(name).read_text("utf-8")


def page(title: str, style: str, script: str, body: Markup) -> Markup:
    """A whole document that loads nothing, and runs this one script and nothing else."""
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; "
        "base-uri 'none'; form-action 'none'"
    ).format(*digests)
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        _verbatim("style", style),
    )
    return Markup(
        f'<!doctype html>\n<html lang="en">\n{element("head", head)}\n'
        f"{element('body', body, _verbatim('script', script))}\n</html>\n"
    )


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    plain = _attribute_name(name)
    return f" {plain}" if value is True else f' {plain}="{html(str(value))}"'


@cache
def _attribute_name(name: str) -> str:
    plain = name.rstrip("_").replace("_", "-")
    if plain not in _ATTRIBUTES:
        raise ValueError(f"no attribute of a report: {plain}")
    return plain


def _verbatim(tag: str, text: str) -> Markup:
    """Our own style or script, which nothing from outside is part of."""
    if "</" in text or "<!--" in text:
        raise ValueError(f"this would end the {tag}")
    return Markup(f"<{tag}>{text}</{tag}>")
