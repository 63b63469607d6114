"""Text from outside, made harmless for the place where it is shown."""

import json
import re

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~&])")
_LIST = re.compile(r"^\s*(?:([-+=])|(\d{1,9})([.)]))")
_REFERENCE = re.compile(r"([@#])(?=\w)")
_RUNNER_COMMAND = re.compile(r"(?m)^(\s*)(::|##\[)")


def visible(text: str) -> str:
    """For a terminal: control, bidi and zero-width characters shown as `\\x1b`, `\\u202e`; tab and newline
    stay. Colours come from the tool alone."""
    return _CONTROLS.sub(_shown, text) if not text.isprintable() else text


def one_line(text: str) -> str:
    """As `visible`, and on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def json_string(text: str) -> str:
    """A JSON string that reads back as the text, and that a terminal can be shown as well."""
    return _CONTROLS.sub(_json_escape, json.dumps(text, ensure_ascii=False))


def log(text: str) -> str:
    """No line that the runner of a CI job would take for a command to itself."""
    return _RUNNER_COMMAND.sub(r"\1\\\2", text)


def xml(text: str) -> str:
    """What XML cannot hold, replaced visibly. The markup is escaped by whoever writes the XML."""
    return _NOT_XML.sub(_shown, text)


def markdown_block(text: str, language: str = "") -> str:
    """A fenced block whose fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{visible(text)}\n{fence}"


def markdown_code(text: str) -> str:
    """A code span on one line, safe inside a table as well. Renderers disagree about a pipe that follows a
    backslash: such a one is shown by its number."""
    text = one_line(text) or " "
    text = re.sub(r"(\\?)\|", lambda match: r"\\x7c" if match[1] else r"\|", text)
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def markdown_text(text: str) -> str:
    """Plain words: no markup, no images, no mentions of people or issues."""
    escaped = _MARKUP.sub(r"\\\1", one_line(text))
    escaped = _LIST.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", escaped)
    return _REFERENCE.sub("\\1\u2060", escaped)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"
