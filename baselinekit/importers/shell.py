"""A text of shell commands as their words, as bash would split them."""

import re

from baselinekit.errors import InvalidInput, Problem
from baselinekit.lazy import lazy_pattern

_WORD = lazy_pattern(
    r"""\$'(?P<ansi>(?:[^'\\]|\\.)*)'|'(?P<raw>[^']*)'|\$?"(?P<text>(?:[^"\\]|\\.)*)"|\\\r?\n|\\(?P<one>.)"""
    r"""|(?P<newline>\n)|(?P<blank>[ \t\r]+)|(?P<plain>[^\s'"\\$|;&<>]+|\$|(?<=[^\s&])&(?=[^\s&]))"""
    r"""|(?P<ends>&&|\|\|?|;|&|[12]?>>?|<)""",
    re.DOTALL,
)
_EXPANSION = lazy_pattern(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_][^}]*\}|\([^)]*\)?)|`[^`]*`?")
_ANSI = lazy_pattern(r"\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|(.))", re.S)
_ANSI_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def split_words(text: str) -> list[str]:
    """The words of the first command in a text."""
    return next_command(text, 0)[0]


def split_commands(text: str) -> list[list[str]]:
    """The words of all commands of a text."""
    commands = []
    place = 0
    while place < len(text):
        words, place = next_command(text, place)
        commands += [words] if words else []
    return commands


def next_command(text: str, place: int, refuses: bool = True) -> tuple[list[str], int]:
    """The words of the first command at or after a place, and where its last line ends. Quotes, `$'…'`,
    comments and line continuations are read as bash reads them, what bash would expand is refused (unless
    only the end is asked for), and pipes and redirections are left out."""
    words: list[str] = []
    word = None
    is_over = False  # after a pipe: the rest of the line is skipped
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            hint = "close the quote, or put a backslash before it"
            raise InvalidInput(Problem("BK508", "a quote is never closed", hint))
        kind = match.lastgroup
        is_comment = kind == "plain" and word is None and match["plain"].startswith("#")
        if kind in ("blank", "newline", "ends") or is_comment:
            words += [] if word is None or is_over else [word]
            word = None
        if is_comment:
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
            continue
        place = match.end()
        if kind == "newline":
            if words:
                break
            is_over = False
        elif kind == "ends":
            is_over = True
        elif kind not in (None, "blank"):
            if refuses and not is_over:
                _refuse_expansion(match)
            word = (word or "") + _unquoted(match, str(kind))
    return words if word is None or is_over else [*words, word], place


def _refuse_expansion(match: re.Match[str]) -> None:
    """Refuse a variable, and the output of a program: the shell that they are for is not known here."""
    found = None
    if match.lastgroup == "text":
        found = _EXPANSION.search(re.sub(r"(?s)\\.", "", match["text"]))
    elif match.lastgroup == "plain":
        found = _EXPANSION.match(match.string, match.start()) or _EXPANSION.search(match[0])
    if found is not None:
        message = f"{found[0]} is for the shell to fill in, and nothing is known of it here"
        raise InvalidInput(Problem("BK508", message, "write its value there; what is meant so goes in '…'"))


def _unquoted(match: re.Match[str], kind: str) -> str:
    if kind == "ansi":
        return _ANSI.sub(_ansi_sign, match["ansi"])
    if kind == "text":
        return re.sub(r'\\(?:(["\\$`])|\r?\n)', lambda part: part[1] or "", match["text"])
    return match[kind]


def _ansi_sign(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code or match[4]:
        number = int(code, 16) if code else int(match[4], 8)
        return chr(number) if number < 0x110000 else match[0]
    return _ANSI_SIGNS.get(match[5], match[5])
