"""A text with one request a line: a URL, `METHOD URL`, or a curl command, which may take several lines."""

from collections.abc import Iterator
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.importers.credentials import HiddenValues
from baselinekit.importers.curl import parse_words
from baselinekit.importers.drafts import (
    HINT_FOR_URL,
    SAFE,
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    LeftOut,
    SourceText,
    addressed,
    flaw_of_url,
    path_of,
    slug,
)
from baselinekit.importers.shell import next_command, refuse_expansions
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

FORM = "a list of URLs or curl lines"

_CURL = lazy_pattern(r"(?:\$[ \t]+)?(?=curl[ \t])")
_URL = lazy_pattern(r"(?:(?P<method>[A-Z]+)[ \t]+)?(?P<url>(?i:https?://\S+)|/\S*)(?:[ \t]+#.*)?")


def recognises(source: SourceText) -> bool:
    """Whether the first line that is not empty and no comment is such a line."""
    lines = (line.strip() for line in source.text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return bool(_CURL.match(first) or _URL.fullmatch(first))


def read(source: SourceText, choices: ImportChoices) -> ImportedFile:
    credentials = HiddenValues()
    drafts: list[DraftRecipe] = []
    left_out: list[LeftOut] = []
    unsafe = 0
    for line, entry in _requests(source.text, choices):
        if isinstance(entry, LeftOut):
            left_out.append(entry)
            continue
        request, execution, notes = entry
        if request["method"] not in SAFE and not choices.unsafe:
            unsafe += 1
            continue
        request = credentials.hidden(request)
        if execution.pop("verify", None) is False:
            notes = (*notes, "-k is not carried over: `http: {verify: false}` in baselinekit.yaml allows it")
        drafts.append(draft_of(request, execution, line, notes, choices))
    return ImportedFile(tuple(drafts), tuple(left_out), unsafe, secrets=credentials.found)


def draft_of(
    request: dict[str, Any],
    execution: dict[str, Json],
    line: int,
    notes: tuple[str, ...],
    choices: ImportChoices,
) -> DraftRecipe:
    """A request with its whole address, as a recipe below the base_url of the project or its own."""
    endpoint, base_url = addressed(request["url"], choices.base_url)
    remaining = {key: value for key, value in request.items() if key not in ("method", "url")}
    request_input = {"method": request["method"], "endpoint": endpoint, **remaining}
    execution_part = {"type": "http"} | ({"base_url": base_url} if base_url else {}) | execution
    id = slug(f"{request['method']} {path_of(endpoint)}")
    return DraftRecipe(id, {"input": request_input, "execution": execution_part}, line, notes=notes)


def _requests(
    text: str, choices: ImportChoices
) -> Iterator[tuple[int, LeftOut | tuple[dict[str, Any], dict[str, Json], tuple[str, ...]]]]:
    position, line = 0, 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line, line_text = text.count("\n", 0, position) + 1, text[position:end].strip()
        start_position = position + len(text[position:end]) - len(text[position:end].lstrip())
        position = end + 1
        if not line_text or line_text.startswith("#"):
            continue
        if curl := _CURL.match(text, start_position):
            try:
                words, _, position = next_command(text, curl.end())
                refuse_expansions(text, curl.end())
                curl_request = parse_words(words, choices.read)
                yield line, (curl_request.request, curl_request.execution, curl_request.dropped)
            except BaselinekitError as error:
                problem = error.problems[0]
                yield line, LeftOut(line, problem.message, problem.hint)
        elif (match := _URL.fullmatch(line_text)) and (match["url"].startswith("http") or choices.base_url):
            base = (choices.base_url or "").rstrip("/") if match["url"].startswith("/") else ""
            url, method = base + match["url"], match["method"] or "GET"
            if flaw := flaw_of_url(url):
                yield line, LeftOut(line, flaw, HINT_FOR_URL)
            else:
                yield line, ({"method": method, "url": url}, {}, ())
        elif match:
            yield line, LeftOut(line, f"{line_text} has no base_url", "pass --base-url http://…")
        else:
            yield (
                line,
                LeftOut(line, "neither a URL nor a curl line", "as in GET https://api.example.com/users"),
            )
