"""A host that is named in the configuration: one line more, every other byte as it was."""

import os
import re
from urllib.parse import urlsplit

from baselinekit.documents import yamlwrite
from baselinekit.documents.languages import YAML, canonical
from baselinekit.documents.marks import mark
from baselinekit.documents.splice import apply
from baselinekit.documents.text import decode, encode, newline
from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.model.edits import Edit
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.config import NAME, read_config
from baselinekit.store.files import read
from baselinekit.store.lock import lock

_SIBLINGS = ("base_url", "baselines", "evals", "variables", "environments", "placeholders", "http")


def name_origin(root: str, config_file: str | None, origin: str) -> str:
    """Name an origin in the configuration, which is made if there is none. What was written, in a line."""
    file = config_file or NAME
    with lock(root, file):
        there = os.path.exists(os.path.join(root, file))
        body, bom = decode(read(root, file), file) if there else ("version: 1\n", False)
        text, line = named(body, file, origin)
        read_config(encode(text, bom), file)
        atomic.replace_file(root, file, encode(text, bom), new=not there)
    return f"{line} in {file}"


def named(body: str, file: str, origin: str) -> tuple[str, str]:
    """The text in which an origin is named, and how. `allow_hosts` takes it where there is one, as nothing
    else is asked then. Else it becomes the `base_url` of a project without one, and else a variable:
    neither keeps anybody from asking other hosts."""
    documents = [one for one in YAML.load(body, file) if one is not None]
    config: dict[str, Json] = documents[0] if documents and isinstance(documents[0], dict) else {}
    if not config:
        return _appended(body, f"base_url: {origin}"), f"base_url: {origin}"
    hosts = config.get("allow_hosts")
    if isinstance(hosts, list):
        host = urlsplit(origin).netloc
        return _in_list(body, file, hosts, host), f"allow_hosts: {host}"
    if not config.get("base_url"):
        return _set(body, "base_url", origin), f"base_url: {origin}"
    known = config.get("variables") or {}
    name = _variable(origin, known)
    return _set(body, "variables", origin, name), f"variables: {name}: {origin}"


def _set(body: str, key: str, value: str, name: str | None = None) -> str:
    path = (key,) if name is None else (key, name)
    return apply(body, [Edit(path, value)], 0, YAML, _SIBLINGS)


def _variable(origin: str, known: dict[str, Json]) -> str:
    """`orders_internal_url` for http://orders.internal."""
    parts = urlsplit(origin)
    words = re.sub(r"\W+", "_", parts.netloc).strip("_").lower()
    name = f"{words}_url" if re.match(r"[a-z]", words) and not words.startswith("any_") else f"url_{words}"
    number = 2
    chosen = name
    while chosen in known:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _in_list(body: str, file: str, hosts: list[Json], host: str) -> str:
    """One more entry, written as the last one is; where that does not come out right, the list anew."""
    wanted = [*hosts, host]
    text = yamlwrite.scalar(host)
    if hosts:
        last = mark(YAML.events(body), 0, [("allow_hosts", len(hosts) - 1)])
        node = last.reach(("allow_hosts", len(hosts) - 1))[0][-1]
        start = body.rfind("\n", 0, node.start) + 1
        end = body.find("\n", node.end)
        lead = re.match(r"[ \t]*-[ \t]+", body[start : node.start])
        if lead and lead.end() == node.start - start:
            at = len(body) if end < 0 else end + 1
            before = newline(body) if end < 0 else ""
            tried = f"{body[:at]}{before}{lead[0]}{text}{newline(body)}{body[at:]}"
        else:
            tried = f"{body[: node.end]}, {text}{body[node.end :]}"
        if _reads(tried, file, wanted):
            return tried
    return apply(body, [Edit(("allow_hosts",), wanted)], 0, YAML, _SIBLINGS)


def _reads(body: str, file: str, hosts: list[Json]) -> bool:
    try:
        return canonical(YAML.load(body, file)[0]["allow_hosts"]) == canonical(hosts)
    except (BaselinekitError, LookupError, TypeError):
        return False


def _appended(body: str, line: str) -> str:
    if body and not body.endswith(("\n", "\r")):
        body += newline(body)
    if any(text.strip() in ("...", "---") for text in body.splitlines()):
        what = "a host cannot be named there: the file holds no setting yet, and marks of a document"
        raise NotRecorded(Problem("BK122", what, f"write `{line}` into it"))
    return f"{body}{line}{newline(body)}"
