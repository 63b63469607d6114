"""Histories of a file of baselines on several branches: who recorded what, who refreshed, and what must be
left of it when all are together again."""

import os
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from baselinekit.files.edit import edited as edited_text
from baselinekit.files.languages import language
from baselinekit.files.text import decode, encode
from baselinekit.model.values import Edit, Json, Path
from baselinekit.structs import replace
from baselinekit.values.changes import Hints
from baselinekit.values.places import value_at

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
KEYS = ("last_passed", "failure_count")
START = datetime(2026, 1, 1, tzinfo=UTC)

BLOCK = """\
# what the team says
id: {id}
baseline:
  output:
    status: 200   # as ever
    body: {{name: Ada, n: 1}}
  captured_at: "2025-12-01T10:00:00Z"
current:
  input: {{method: GET, endpoint: /users}}
  execution: {{type: http}}
metadata:
  criticality: high
  tags: [a, 'b']
  last_passed: {last}    # the record
  failure_count: {count}
"""
SHORT = """\
id: {id}
baseline:
  output: {{status: 200, body: {{name: Ada, n: 1}}}}
  captured_at: '2025-12-01T10:00:00Z'
current: {{input: {{endpoint: /users}}, execution: {{type: http}}}}
metadata: {{last_passed: {last}, failure_count: {count}}}
"""
BARE = """\
id: {id}
baseline:
  captured_at: 2025-12-01T10:00:00Z
  output: {{status: 200, body: {{name: Ada, n: 1}}}}
current:
  input: {{endpoint: /users}}
  execution: {{type: http}}
"""
JSON = """\
{{
  "id": "{id}",
  "baseline": {{
    "output": {{"status": 200, "body": {{"name": "Ada", "n": 1}}}},
    "captured_at": "2025-12-01T10:00:00Z"
  }},
  "current": {{"input": {{"endpoint": "/users"}}, "execution": {{"type": "http"}}}},
  "metadata": {{
    "last_passed": {last},
    "failure_count": {count}
  }}
}}
"""


@dataclass(frozen=True)
class Case:
    """One baseline in a file: its document and its place there."""

    id: str
    document: int
    at: Path


@dataclass
class Drawn:
    """A file as it begins, and what its baselines have on record."""

    name: str
    text: bytes
    cases: list[Case]
    records: dict[str, tuple[str | None, int]] = field(default_factory=dict)


def drawn(pick: random.Random) -> Drawn:
    """A file in one of many styles."""
    style = pick.choice(["block", "short", "bare", "list", "documents", "json", "crlf", "wrapped"])
    ids = ["a"] if style not in ("list", "documents") else ["a", "b", "c"][: pick.randint(2, 3)]
    records: dict[str, tuple[str | None, int]] = {
        id: (pick.choice([None, "2025-12-05T10:00:00Z"]), pick.randint(0, 6)) for id in ids
    }
    forms = {"short": SHORT, "bare": BARE, "json": JSON}
    texts = [_filled(forms.get(style, BLOCK), id, *records[id], style == "json") for id in ids]
    if style == "bare":
        records = dict.fromkeys(ids, (None, 0))
    if style == "list":
        text = "".join(
            "- " + one.replace("\n", "\n  ").rstrip(" ") for one in (t.split("\n", 1)[1] for t in texts)
        )
        cases = [Case(id, 0, (n,)) for n, id in enumerate(ids)]
    elif style == "wrapped":
        text = "regression_eval:\n" + "".join(f"  {line}\n" for line in texts[0].splitlines())
        cases = [Case(ids[0], 0, ("regression_eval",))]
    else:
        text = "---\n".join(texts)
        cases = [Case(id, n, ()) for n, id in enumerate(ids)]
    data = text.replace("\n", "\r\n").encode() if style == "crlf" else text.encode()
    return Drawn("users.json" if style == "json" else "users.yaml", data, cases, records)


def _filled(form: str, id: str, last: str | None, count: int, is_json: bool) -> str:
    shown = "null" if last is None else f'"{last}"' if is_json else last
    return form.format(id=id, last=shown, count=count)


@dataclass(frozen=True)
class Branch:
    """What one branch has made of a file, as far as the record is concerned."""

    text: bytes
    fails: dict[str, int] = field(default_factory=dict)
    passes: dict[str, str] = field(default_factory=dict)
    refreshed: frozenset[str] = frozenset()


def recorded(file: Drawn, pick: random.Random, refreshes: bool) -> Branch:
    """Some days on a branch: passes and failures, and on one of them, perhaps, a refresh."""
    branch = Branch(file.text)
    day = START + timedelta(minutes=pick.randint(0, 100_000))
    steps = [pick.choice(["pass", "fail"]) for _ in range(pick.randint(0, 5))]
    if refreshes:
        steps.insert(pick.randint(0, len(steps)), "refresh")
    for step in steps:
        day += timedelta(minutes=pick.randint(1, 3_000))
        now = f"{day:%Y-%m-%dT%H:%M:%SZ}"
        case = pick.choice(file.cases)
        branch = _stepped(file, branch, case, step, now)
    return branch


def _stepped(file: Drawn, branch: Branch, case: Case, step: str, now: str) -> Branch:
    id = case.id
    if step == "pass":
        text = edited(file, branch.text, case, {("metadata", "last_passed"): now})
        return replace(branch, text=text, passes={**branch.passes, id: now})
    if step == "fail":
        count = record_of(file, branch.text, case)[1] + 1
        text = edited(file, branch.text, case, {("metadata", "failure_count"): count})
        return replace(branch, text=text, fails={**branch.fails, id: branch.fails.get(id, 0) + 1})
    changes: dict[Path, Json] = {
        ("baseline", "output", "body", "name"): f"Ada {now}",
        ("baseline", "captured_at"): now,
        ("metadata", "failure_count"): 0,
    }
    text = edited(file, branch.text, case, changes)
    fails = {**branch.fails, id: 0}
    return replace(branch, text=text, fails=fails, refreshed=branch.refreshed | {id})


def edited(file: Drawn, text: bytes, case: Case, changes: dict[Path, Json]) -> bytes:
    body, bom = decode(text, file.name)
    if any(path[0] == "metadata" for path in changes):
        last, count = record_of(file, text, case)  # both are written where neither is there, as compare does
        changes = {("metadata", "last_passed"): last, ("metadata", "failure_count"): count, **changes}
    edits = [Edit((*case.at, *path), value) for path, value in changes.items()]
    return encode(edited_text(body, edits, language(file.name), case.document, Hints(siblings=KEYS)), bom)


def record_of(file: Drawn, text: bytes, case: Case) -> tuple[str | None, int]:
    documents = language(file.name).load(decode(text, file.name).body, file.name)
    about = value_at(documents[case.document], case.at).get("metadata") or {}
    return about.get("last_passed"), about.get("failure_count") or 0


def expected(file: Drawn, branches: list[Branch], id: str) -> tuple[str | None, int]:
    """What the record must be when all branches are together, where none refreshed."""
    last, count = file.records[id]
    dates = [date for date in (last, *(branch.passes.get(id) for branch in branches)) if date]
    return max(dates, default=None), count + sum(branch.fails.get(id, 0) for branch in branches)
