"""Escapes text from outside for the place where it is shown."""

import json
import re

from baselinekit.lazy import lazy_pattern

_CONTROLS = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_NOT_ASCII = lazy_pattern("[^\x00-\x7f]")
_NOT_XML = lazy_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MARKUP = lazy_pattern(r"([\\`*_{}\[\]<>#|!~&])")
_LIST = lazy_pattern(r"^\s*(?:([-+=])|(\d{1,9})([.)])(?=\s|$))")
_REFERENCE = lazy_pattern(r"([@#]|\b[Gg][Hh]-)(?=\w)")
_RUNNER_COMMAND = lazy_pattern(r"(?m)^(\s*)::")
_LOG_COMMAND = lazy_pattern(r"##((?:vso|teamcity)?)\[")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_RUNNER_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_RUNNER_PROPERTY = _RUNNER_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})

_quoted = json.JSONEncoder(ensure_ascii=False).encode


def escape_controls(text: str) -> str:
    """For a terminal: control, bidi and invisible characters are shown as `\\x1b`, `\\u202e`; tab and newline
    stay. Only the tool itself may set colours."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub(_escape_character, text)


def one_line(text: str) -> str:
    """As `escape_controls`, and on one line."""
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")


def json_string(text: str) -> str:
    """A JSON string that reads back as the text and is safe to print on a terminal."""
    encoded = _quoted(text)
    plain = text.isascii() and text.isprintable() and "##" not in text
    return encoded if plain else json_text(encoded)


def json_text(written: str) -> str:
    """Equivalent JSON that is safe to print on a terminal or in the log of a CI job."""
    return _LOG_COMMAND.sub(r"##\1\\u005b", _CONTROLS.sub(json_escape, written))


def json_ascii(written: str) -> str:
    """Equivalent JSON for a stream that can hold only ASCII."""
    return _NOT_ASCII.sub(json_escape, written)


def escape_ci_commands(text: str) -> str:
    """Escape what the runner of a CI job would take for a command: `::` at the beginning of a line, and
    `##[` anywhere."""
    return _LOG_COMMAND.sub(r"##\1\\[", _RUNNER_COMMAND.sub(r"\1\\::", text))


def xml(text: str) -> str:
    """Show the characters that XML cannot hold as escapes. Markup is left to the code that writes the XML."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_XML.sub(_escape_character, text)


def html(text: str) -> str:
    """For HTML, between tags or within a quoted attribute; invisible characters are shown by number."""
    return xml(escape_controls(text)).translate(_HTML)


def runner_message(text: str) -> str:
    """The text of a command to the runner of a CI job, always a single line and a single text."""
    return escape_ci_commands(escape_controls(text)).translate(_RUNNER_MESSAGE)


def runner_property(text: str) -> str:
    """A property of such a command; no text can end it or add another one."""
    return escape_ci_commands(one_line(text)).translate(_RUNNER_PROPERTY)


def markdown_html(text: str) -> str:
    """One line of HTML within Markdown, such as the summary of a `<details>`: without mentions, and without
    Markdown, which some renderers interpret even there."""
    without_references = _REFERENCE.sub("\\1\u2060", one_line(text))
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", without_references)


def markdown_block(text: str, language: str = "") -> str:
    """A fenced block whose fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, longest_run(text) + 1)
    return f"{fence}{language}\n{escape_controls(text)}\n{fence}"


def markdown_code(text: str) -> str:
    """A code span on one line, safe inside a table as well. Renderers disagree about a pipe after a
    backslash, so that pipe is shown as `\\x7c`."""
    text = one_line(text) or " "
    text = re.sub(r"(\\?)\|", lambda match: r"\\x7c" if match[1] else r"\|", text)
    fence = "`" * (longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def markdown_text(text: str) -> str:
    """Plain text: no markup, no images, no mentions of people or issues."""
    escaped = _MARKUP.sub(r"\\\1", one_line(text))
    escaped = _LIST.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", escaped)
    return _REFERENCE.sub("\\1\u2060", escaped)


def longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"
