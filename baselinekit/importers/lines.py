"""A text with one request a line: a URL, `METHOD URL`, or a curl command, which may take several lines."""

from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.importers import drafts as imports
from baselinekit.importers.credentials import HiddenValues
from baselinekit.importers.curl import parse_words
from baselinekit.importers.shell import next_command
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

FORM = "a list of URLs or curl lines"

_CURL = lazy_pattern(r"(?:\$[ \t]+)?(?=curl[ \t])")
_URL = lazy_pattern(r"(?:(?P<method>[A-Z]+)[ \t]+)?(?P<url>(?i:https?://\S+)|/\S*)(?:[ \t]+#.*)?")


def recognises(source: imports.SourceText) -> bool:
    """Whether the first line that is not empty and no comment is such a line."""
    lines = (line.strip() for line in source.text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return bool(_CURL.match(first) or _URL.fullmatch(first))


def read(source: imports.SourceText, choices: imports.ImportChoices) -> imports.ImportedFile:
    credentials = HiddenValues()
    drafts: list[imports.DraftRecipe] = []
    left_out: list[imports.LeftOut] = []
    unsafe = position = 0
    text = source.text
    while position < len(text):
        line, start, position = text.count("\n", 0, position) + 1, position, _end_of_line(text, position)
        stated = text[start:position].strip()
        if not stated or stated.startswith("#"):
            continue
        try:
            if curl := _CURL.match(stated):
                begin = text.index(stated, start) + curl.end()
                position = max(position, next_command(text, begin, refuses=False)[1])
                words, _ = next_command(text, begin)
            else:
                words = _words_of(stated, choices)
            parsed = parse_words(words, choices.read)
        except BaselinekitError as error:
            left_out.append(imports.LeftOut(line, error.problems[0].message, error.problems[0].hint))
        except imports.NotCarried as error:
            left_out.append(imports.LeftOut(line, error.message, error.hint))
        else:
            if parsed.request["method"] not in imports.SAFE and not choices.unsafe:
                unsafe += 1
                continue
            execution, notes = dict(parsed.execution), parsed.dropped
            if execution.pop("verify", None) is False:
                hint = "`http: {verify: false}` in baselinekit.yaml allows it"
                notes = (*notes, f"-k is not carried over: {hint}")
            drafts.append(draft_of(credentials.hidden(parsed.request), execution, line, notes, choices))
    return imports.ImportedFile(tuple(drafts), tuple(left_out), unsafe, secrets=credentials.found)


def _end_of_line(text: str, position: int) -> int:
    """Where the next line begins. A backslash at its end continues a line."""
    while (end := text.find("\n", position) + 1) > 0 and text[position:end].rstrip("\r\n").endswith("\\"):
        position = end
    return end or len(text)


def _words_of(line: str, choices: imports.ImportChoices) -> list[str]:
    """The words with which curl sends the same request."""
    match = _URL.fullmatch(line)
    if match is None:
        raise imports.NotCarried("neither a URL nor a curl line", "as in GET https://api.example.com/users")
    url = match["url"]
    if url.startswith("/"):
        if not choices.base_url:
            raise imports.NotCarried(f"{line} has no base_url", "pass --base-url http://…")
        url = choices.base_url.rstrip("/") + url
    if flaw := imports.flaw_of_url(url):
        raise imports.NotCarried(flaw, imports.HINT_FOR_URL)
    return ["--request", match["method"] or "GET", url]


def draft_of(
    request: dict[str, Any],
    execution: dict[str, Json],
    line: int,
    notes: tuple[str, ...],
    choices: imports.ImportChoices,
) -> imports.DraftRecipe:
    """A request with its whole address, as a recipe below the base_url of the project or its own."""
    endpoint, base_url = imports.addressed(request["url"], choices.base_url)
    remaining = {key: value for key, value in request.items() if key not in ("method", "url")}
    request_input = {"method": request["method"], "endpoint": endpoint, **remaining}
    execution_part = {"type": "http"} | ({"base_url": base_url} if base_url else {}) | execution
    id = imports.slug(f"{request['method']} {imports.path_of(endpoint)}")
    return imports.DraftRecipe(id, {"input": request_input, "execution": execution_part}, line, notes=notes)
