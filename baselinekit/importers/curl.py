"""A curl command line as a request. Options without a counterpart here are reported.

The request is what curl would send: `-d` without a content type is a form, even if it looks like JSON."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from baselinekit.errors import InvalidInput, Problem, suggest
from baselinekit.importers.curloptions import (
    FLAGS,
    NO_COUNTERPART,
    NO_COUNTERPART_VALUED,
    SHORT,
    TAKES_VALUE,
    WITHOUT_EFFECT,
    WITHOUT_EFFECT_VALUED,
    has_value,
)
from baselinekit.importers.drafts import FORM_TYPE, HINT_FOR_URL, add_value, body_of, flaw_of_url
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import MutableStruct, Struct, field

Read = Callable[[str], str]
"""Reads a file that the line names; `-` is standard input."""

MOST_REDIRECTS = 10
_MOST_RETRIES = 10


class CurlRequest(Struct):
    """The request of one line. `request`: keys of a recipe's `input`, with the whole address under `url`;
    `execution`: keys of its `execution`, without the type; both contain secrets as they were typed.
    `dropped`: the options without a counterpart, a sentence each."""

    request: dict[str, Json]
    execution: dict[str, Json]
    dropped: tuple[str, ...] = ()


# The options of curl.


_FRAMING = lazy_pattern(
    r"(?i)content-length|transfer-encoding|(proxy-)?connection|keep-alive|te|trailer|upgrade|expect"
)
_GLOB = lazy_pattern(r"\[\w+-\w+(:\d+)?\]|(?<!\{)\{[^{}]*,[^{}]*\}(?!\})")


class CurlLine(MutableStruct):
    """The options of one line, as they were typed."""

    urls: list[str] = field(default_factory=list)
    method: str | None = None
    headers: dict[str, tuple[str, str]] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    upload: str | None = None
    parts: dict[str, Json] = field(default_factory=dict)
    files: dict[str, Json] = field(default_factory=dict)
    is_multipart: bool = False
    user: str | None = None
    token: str | None = None
    cookies: dict[str, Json] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)


def parse_words(words: list[str], read: Read) -> CurlRequest:
    """The request of a line that a shell has split into words. The first may be `curl`."""
    line = CurlLine()
    remaining = list(words[1:] if words and re.fullmatch(r"(.*[/\\])?curl(\.exe)?", words[0]) else words)
    only_urls = False
    while remaining:
        word = remaining.pop(0)
        if only_urls or not word.startswith("-") or word == "-":
            line.urls.append(word)
        elif word == "--":
            only_urls = True
        elif word in ("--next", "-:"):
            line.dropped.append(
                "--next: what follows it is another request; write a curl line of its own for it"
            )
            break
        elif word.startswith("--"):
            _take(line, word[2:], remaining, read)
        else:
            _take_short(line, word[1:], remaining, read)
    return _request(line)


def _take_short(line: CurlLine, letters: str, remaining: list[str], read: Read) -> None:
    """`-sSL`, `-XPOST`, `-d@file`: flags together, and a value right behind its letter."""
    while letters:
        letter, letters = letters[0], letters[1:]
        name = SHORT.get(letter)
        if name is None:
            raise InvalidInput(Problem("BK508", f"curl has no option -{letter}", "check the line"))
        if has_value(name):
            if letters:
                remaining.insert(0, letters)
            letters = ""
        _take(line, name, remaining, read)


def _take(line: CurlLine, name: str, remaining: list[str], read: Read) -> None:
    if has_value(name) and not remaining:
        raise InvalidInput(Problem("BK508", f"--{name} needs a value behind it", "check the line"))
    if name in TAKES_VALUE:
        _VALUED.get(name, _keep)(line, name, remaining.pop(0), read)
    elif name in WITHOUT_EFFECT_VALUED:
        remaining.pop(0)
    elif name in NO_COUNTERPART or name in NO_COUNTERPART_VALUED:
        hint = NO_COUNTERPART.get(name) or NO_COUNTERPART_VALUED.get(name)
        line.dropped.append(f"--{name} has no counterpart{f': {hint}' if hint else ''}")
        if name in NO_COUNTERPART_VALUED:
            remaining.pop(0)
    elif name in FLAGS:
        line.flags.add(name)
    elif name not in WITHOUT_EFFECT and f"no-{name}" not in WITHOUT_EFFECT:
        opposite = name.removeprefix("no-")
        if opposite == name or opposite not in WITHOUT_EFFECT | FLAGS:
            option_names = {*TAKES_VALUE, *FLAGS, *WITHOUT_EFFECT, *NO_COUNTERPART, *NO_COUNTERPART_VALUED}
            hint = (
                "baselinekit capture http --help"
                if name == "help"
                else suggest(name, option_names) or "leave it out"
            )
            raise InvalidInput(Problem("BK508", f"the option --{name} of curl is not known", hint))
        line.flags.discard(opposite)


def _keep(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.values[name] = value


def _take_method(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.method = value.upper()


def _take_url(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.urls.append(value)


def _take_header(line: CurlLine, name: str, value: str, read: Read) -> None:
    if value.startswith("@"):
        for text in read(value[1:]).splitlines():
            if text.strip():
                _take_header(line, name, text, read)
        return
    header, colon, text = value.partition(":")
    header, text = header.strip(), text.strip()
    if colon and not text:
        line.dropped.append(f"-H '{header}:' takes a header away; there is no counterpart")
    elif colon:
        _add_header(line, header, text)
    elif value.rstrip().endswith(";"):
        _add_header(line, value.rstrip()[:-1].strip(), "")
    else:
        raise InvalidInput(
            Problem("BK508", f"-H {value!r} is not 'NAME: VALUE'", "as in -H 'Accept: text/html'")
        )


def _add_header(line: CurlLine, header: str, text: str) -> None:
    lower = header.lower()
    if lower == "cookie":
        _add_cookies(line, text)
    elif lower in line.headers:
        original_name, earlier = line.headers[lower]
        line.headers[lower] = (original_name, f"{earlier}, {text}")
    else:
        line.headers[lower] = (header, text)


def _take_cookie(line: CurlLine, name: str, value: str, read: Read) -> None:
    if "=" in value:
        _add_cookies(line, value)
    else:
        line.dropped.append(
            "-b FILE: cookies from a file have no counterpart; write them out: -b 'name=value'"
        )


def _add_cookies(line: CurlLine, text: str) -> None:
    for pair in text.split(";"):
        name, is_pair, value = pair.strip().partition("=")
        if is_pair and name:
            line.cookies[name] = value


def _take_data(line: CurlLine, name: str, value: str, read: Read) -> None:
    if name == "json":
        line.headers.setdefault("content-type", ("Content-Type", "application/json"))
        line.headers.setdefault("accept", ("Accept", "application/json"))
    if name == "data-urlencode":
        line.data.append(_urlencoded(value, read))
        return
    if value.startswith("@") and name != "data-raw":
        value = read(value[1:])
        if name in ("data", "data-ascii"):
            value = re.sub(r"[\r\n]", "", value)
    if name == "json" and line.data:
        line.data[-1] += value
    else:
        line.data.append(value)


def _urlencoded(value: str, read: Read) -> str:
    """`content`, `=content`, `name=content`, `@file` and `name@file`."""
    match = re.match(r"([^=@]*)([=@])", value)
    if match is None:
        return quote_plus(value)
    text = value[match.end() :]
    encoded = quote_plus(read(text) if match[2] == "@" else text)
    return f"{match[1]}={encoded}" if match[1] else encoded


def _take_query(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.query.append(value[1:] if value.startswith("+") else _urlencoded(value, read))


def _take_part(line: CurlLine, name: str, value: str, read: Read) -> None:
    key, is_pair, text = value.partition("=")
    if not is_pair:
        raise InvalidInput(
            Problem("BK508", f"-F {value!r} is not NAME=VALUE", "as in -F 'file=@picture.png'")
        )
    line.is_multipart = True
    if name == "form" and text.startswith(("@", "<")):
        path, *attributes = text[1:].split(";")
        if attributes:
            line.dropped.append(
                f"-F {key}: `;{';'.join(attributes)}` has no counterpart; the name of the file says it"
            )
        if text.startswith("@") and key not in line.files:
            line.files[key] = path.strip('"')
            return
        if text.startswith("@"):
            line.dropped.append(
                f"-F {key}: only one file is sent under a name, and this is a further one: {path}"
            )
            return
        text = read(path)
    elif name == "form" and (match := re.search(r";type=[^;]*$", text)):
        line.dropped.append(f"-F {key}: `{match[0]}` has no counterpart: a field is sent as text")
        text = text[: match.start()]
    add_value(line.parts, key, text)


def _take_upload(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.upload, line.values[name] = read(value), value


def _take_user(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.user = value


def _take_token(line: CurlLine, name: str, value: str, read: Read) -> None:
    line.token = value


def _take_named_header(line: CurlLine, name: str, value: str, read: Read) -> None:
    header = {"user-agent": "User-Agent", "referer": "Referer", "range": "Range"}[name]
    value = f"bytes={value}" if name == "range" else value.removesuffix(";auto")
    if value:
        _add_header(line, header, value)


_VALUED: Mapping[str, Callable[[CurlLine, str, str, Read], None]] = {
    "request": _take_method,
    "url": _take_url,
    "header": _take_header,
    "cookie": _take_cookie,
    **dict.fromkeys(("data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json"), _take_data),
    "url-query": _take_query,
    **dict.fromkeys(("form", "form-string"), _take_part),
    "upload-file": _take_upload,
    "user": _take_user,
    "oauth2-bearer": _take_token,
    **dict.fromkeys(("user-agent", "referer", "range"), _take_named_header),
}


# The options together, as a request.


def _request(line: CurlLine) -> CurlRequest:
    if not line.urls:
        raise InvalidInput(
            Problem("BK508", "the curl line names no URL", "as in curl https://api.example.com/users")
        )
    url = _url(line)
    for further_url in line.urls[1:]:
        line.dropped.append(f"a further URL, {further_url}: write a curl line of its own for it")
    request: dict[str, Json] = {"method": _method(line), "url": url}
    body = _body(line)
    headers = _headers(line, url)
    if body.keys() & {"json", "form", "files"}:
        content_type = headers.get("Content-Type", "")
        if "files" in body or content_type.lower() in ("application/json", FORM_TYPE):
            headers.pop("Content-Type", None)
    if headers:
        request["headers"] = headers
    request |= body
    if auth := _auth(line):
        request["auth"] = auth
    if line.cookies:
        request["cookies"] = dict(line.cookies)
    return CurlRequest(request, _execution(line), tuple(line.dropped))


def _method(line: CurlLine) -> str:
    if line.method:
        return line.method
    if "head" in line.flags:
        return "HEAD"
    if line.upload is not None:
        return "PUT"
    return "POST" if line.is_multipart or (line.data and "get" not in line.flags) else "GET"


def _url(line: CurlLine) -> str:
    """The whole address: with a scheme, without credentials and fragment, with the data that `-G` adds to
    it."""
    url = line.urls[0] if "://" in line.urls[0] else f"http://{line.urls[0]}"
    if _GLOB.search(url):
        line.dropped.append(
            "curl would ask several URLs for the `[…]` or `{…}` in this one; here it is asked as it is"
        )
    scheme, _, remaining = url.partition("://")
    authority, *path = re.split(r"(?=[/?#])", remaining, maxsplit=1)
    if "@" in authority:
        credentials, _, authority = authority.rpartition("@")
        line.user = line.user or unquote(credentials)
    if "$" in authority:
        message = f"{authority!r} is no host: nothing is known here of a variable of a shell"
        raise InvalidInput(Problem("BK508", message, "write its value there"))
    address = f"{scheme.lower()}://{authority}{''.join(path)}".partition("#")[0]
    if line.upload is not None and address.endswith("/"):
        address += quote(re.split(r"[/\\]", line.values["upload-file"])[-1])
    if flaw := flaw_of_url(address):
        raise InvalidInput(Problem("BK508", flaw, HINT_FOR_URL))
    query_parts = [*line.query, *(line.data if "get" in line.flags or "head" in line.flags else ())]
    if not query_parts:
        return address
    return f"{address}{'&' if '?' in address else '?'}{'&'.join(query_parts)}"


def _headers(line: CurlLine, url: str) -> dict[str, Json]:
    """The headers that are sent. Framing and content codings are left to the client."""
    headers: dict[str, Json] = {}
    for lower, (name, value) in line.headers.items():
        if lower == "host" and value != urlsplit(url).netloc:
            line.dropped.append(f"the header Host: {value} cannot be set; ask that host itself")
        elif lower not in ("host", "accept-encoding") and not _FRAMING.fullmatch(lower):
            headers["Content-Type" if lower == "content-type" else name] = value
    return headers


def _body(line: CurlLine) -> dict[str, Any]:
    if line.is_multipart:
        if line.data:
            line.dropped.append("-d and -F both set the body; the form of -F is sent")
        return {**({"form": line.parts} if line.parts else {}), "files": line.files}
    if line.upload is not None:
        return {"body": line.upload}
    if not line.data or "get" in line.flags or "head" in line.flags:
        return {}
    text = "&".join(line.data)
    media = (
        line.headers.setdefault("content-type", ("Content-Type", FORM_TYPE))[1]
        .lower()
        .partition(";")[0]
        .strip()
    )
    return body_of(text, media)


def _auth(line: CurlLine) -> dict[str, Json]:
    if line.token is not None:
        return {"type": "bearer", "token": line.token}
    if line.user is None:
        return {}
    name, has_password, password = line.user.partition(":")
    if not has_password:
        line.dropped.append(f"-u {name} has no password, for which curl would ask; it is sent empty")
    return {"type": "digest" if "digest" in line.flags else "basic", "username": name, "password": password}


def _execution(line: CurlLine) -> dict[str, Json]:
    execution: dict[str, Json] = {}
    if (seconds := _number(line, "max-time")) is not None:
        execution["timeout"] = seconds
    if "location" in line.flags:
        max_redirects = _number(line, "max-redirs")
        execution["redirects"] = (
            MOST_REDIRECTS
            if max_redirects is None or max_redirects < 0
            else min(int(max_redirects), 2 * MOST_REDIRECTS)
        )
    if (retries := _number(line, "retry")) is not None:
        execution["retries"] = min(int(retries), _MOST_RETRIES)
    if "insecure" in line.flags:
        execution["verify"] = False
    elif "cacert" in line.values:
        execution["verify"] = line.values["cacert"]
    if "cert" in line.values:
        execution["cert"] = line.values["cert"]
    if line.flags & {"http2", "http2-prior-knowledge"}:
        execution["http2"] = True
    return execution


def _number(line: CurlLine, name: str) -> int | float | None:
    text = line.values.get(name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        raise InvalidInput(Problem("BK508", f"--{name} {text} is not a number", "check the line")) from None
    return int(number) if number.is_integer() else number
