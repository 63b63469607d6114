"""Text from outside, made harmless for the place where it is shown."""

import re

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MENTION = re.compile(r"@(?=\w)")


def visible(text: str) -> str:
    """For a terminal: control, bidi and zero-width characters shown as `\\x1b`, `\\u202e`; tab and newline
    stay. Colours come from the tool alone."""
    return _CONTROLS.sub(_shown, text) if not text.isprintable() else text


def one_line(text: str) -> str:
    """As `visible`, and on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def xml(text: str) -> str:
    """What XML cannot hold, replaced visibly. The markup is escaped by whoever writes the XML."""
    return _NOT_XML.sub(_shown, text)


def markdown_block(text: str, language: str = "") -> str:
    """A fenced block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{visible(text)}\n{fence}"


def markdown_code(text: str) -> str:
    """A code span on one line, safe inside a table as well."""
    text = one_line(text).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def markdown_text(text: str) -> str:
    """Plain words: no markup, no images, no mentions."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#|!~])", r"\\\1", one_line(text))
    return _MENTION.sub("@\u2060", escaped)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
