"""An approval converges: on a service that answers its second version steadily, but for the places that vary,
the refreshed baseline passes every further compare, and sees every value that breaks."""

import copy
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from desk import Desk

from baselinekit.commands.loading import load
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import plan_of, with_output
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.learning.templating import single_element_arrays
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, By, Known, Rules
from baselinekit.model.changes import KeptOutput, RefreshPlan
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.structs import replace
from baselinekit.values.paths import render
from baselinekit.values.places import value_at

SERVICES = 2_000 if os.environ.get("BASELINEKIT_THOROUGH") else 200
COMPARES, BROKEN = 20, 25

# A service is a tree: what is said in every answer, and what varies from one to the next.


@dataclass(frozen=True)
class Varying:
    """A place with another value in each answer; `text` is what a capture stored of it."""

    text: str
    fresh: Callable[[random.Random], Json]


def moment(source: random.Random) -> str:
    return f"2026-11-21T10:0{source.randint(0, 6)}:{source.randint(0, 59):02}Z"


def long_ago(source: random.Random) -> str:
    return f"2019-{source.randint(1, 12):02}-11T10:14:{source.randint(0, 59):02}Z"


def digits(source: random.Random, size: int) -> str:
    return f"{source.getrandbits(4 * size):0{size}x}"


def uuid(source: random.Random) -> str:
    parts = digits(source, 8), digits(source, 4), f"4{digits(source, 3)}", f"a{digits(source, 3)}"
    return "-".join((*parts, digits(source, 12)))


BY_NATURE = (
    Varying("<<any_uuid>>", uuid),
    Varying("<<any_iso_datetime>>", moment),
    Varying("/files/<<any_uuid>>", lambda source: f"/files/{uuid(source)}"),
)
"""What varies wherever it stands."""

VARYING = (
    *BY_NATURE,
    Varying("<<any_integer>>", lambda source: source.randint(-5, 10**6)),
    Varying("<<any_integer(0, 500)>>", lambda source: source.randint(0, 500)),
    Varying("<<any_number>>", lambda source: round(source.uniform(0, 9), 3)),
    Varying("<<any_nonempty_string>>", lambda source: digits(source, source.randint(1, 9))),
    Varying("run <<any_integer>> of 9", lambda source: f"run {source.randint(0, 9**5)} of 9"),
)

Form = dict[str, Callable[[random.Random], Any]]
"""What every row of an array has, or every entry of a map: how each of its values is made."""


class Rows(list[Any]):
    form: Form
    order: str = ""
    """How it is compared: as it stands, `unordered` or `by id`; the service shuffles it then."""


class Entries(dict[str, Any]):
    form: Form


class Lines(list[list[str | Varying]]):
    """A text, line by line, each in its parts."""


def word(source: random.Random) -> str:
    return "".join(source.choice("bdfgklmnprst") + source.choice("aeiou") for _ in range(3))


def literal(source: random.Random) -> Json:
    makers = [word, word, lambda s: s.randint(0, 99), lambda s: s.random() < 0.5, long_ago]
    return source.choice(makers)(source)


def a_form(source: random.Random, depth: int) -> Form:
    form: Form = {"name": word}
    if source.random() < 0.5:
        form = {"id": lambda s: s.randint(1, 10**5), **form}
    for n in range(source.randint(1, 3)):
        varying = source.choice(VARYING)
        form[f"v{n}"] = lambda _, varying=varying: varying
    for n in range(source.randint(0, 2)):
        form[f"l{n}"] = literal
    if depth and source.random() < 0.4:
        inner = a_form(source, depth - 1)
        form["parts"] = lambda s: some_rows(s, inner, s.randint(1, 3))
    if source.random() < 0.3:
        varying = source.choice(BY_NATURE + VARYING[3:4])
        form["text"] = lambda s: Lines([[f"{word(s)} of ", varying, f" {word(s)}"], [f"{word(s)} {word(s)}"]])
    return form


def a_row(source: random.Random, form: Form) -> dict[str, Any]:
    return {key: make(source) for key, make in form.items()}


def some_rows(source: random.Random, form: Form, count: int, order: str = "") -> Rows:
    if order == "by id":
        form = {"id": lambda s: s.randint(1, 10**5), **form}
    rows = Rows(a_row(source, form) for _ in range(count))
    rows.form, rows.order = form, order
    return rows


def some_entries(source: random.Random, form: Form, count: int) -> Entries:
    entries = Entries({word(source): a_row(source, form) for _ in range(count)})
    entries.form = form
    return entries


def a_line(source: random.Random) -> list[str | Varying]:
    if source.random() < 0.6:
        return [" ".join(word(source) for _ in range(source.randint(2, 5)))]
    lead, varying = f"{word(source)} {word(source)}: ", source.choice(BY_NATURE + VARYING[3:4])
    return [lead, varying, *([f" ({word(source)})"] if source.random() < 0.5 else [])]


def some_lines(source: random.Random) -> Lines:
    return Lines(a_line(source) for _ in range(source.randint(2, 9)))


def a_service(source: random.Random) -> dict[str, Any]:
    makers: list[Callable[[], Any]] = [
        lambda: some_rows(source, a_form(source, 1), source.randint(1, 5)),
        lambda: some_rows(source, a_form(source, 1), source.randint(2, 5)),
        lambda: some_rows(source, a_form(source, 1), source.randint(2, 5), "unordered"),
        lambda: some_rows(source, a_form(source, 1), source.randint(2, 5), "by id"),
        lambda: some_entries(source, a_form(source, 1), source.randint(2, 4)),
        lambda: some_lines(source),
        lambda: a_row(source, a_form(source, 1)),
        lambda: literal(source),
        lambda: source.choice(VARYING),
    ]
    return {f"k{n}": source.choice(makers)() for n in range(source.randint(2, 5))}


def answered(node: Any, source: random.Random, shuffled: bool = True) -> Json:
    """One answer of the service."""
    if isinstance(node, Varying):
        return node.fresh(source)
    if isinstance(node, Lines):
        return "".join("".join(str(answered(part, source)) for part in line) + "\n" for line in node)
    if isinstance(node, dict):
        return {key: answered(value, source, shuffled) for key, value in node.items()}
    if isinstance(node, Rows) and node.order and shuffled:
        node = source.sample(node, len(node))
    return [answered(value, source, shuffled) for value in node] if isinstance(node, list) else node


def captured(node: Any) -> Json:
    """What is on file of it."""
    if isinstance(node, Varying):
        return node.text
    if isinstance(node, Lines):
        return "".join("".join(map(str, map(captured, line))) + "\n" for line in node)
    if isinstance(node, dict):
        return {key: captured(value) for key, value in node.items()}
    return [captured(value) for value in node] if isinstance(node, list) else node


# What becomes of the service from one version to the next.


def every(node: Any, kind: type) -> Iterator[Any]:
    if isinstance(node, kind):
        yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, Rows) else ()
    for child in children:
        yield from every(child, kind)


@dataclass
class Change:
    """Makes one change; says nothing was there to change by a LookupError."""

    service: dict[str, Any]
    source: random.Random
    new: int = field(default=0)

    def one(self, kind: type) -> Any:
        return self.pick(list(every(self.service, kind)))

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.source.randrange(len(items))] if items else items[0]

    def add_row(self) -> None:
        rows = self.one(Rows)
        rows.insert(self.source.randint(0, len(rows)), a_row(self.source, rows.form))

    def remove_row(self) -> None:
        rows = self.one(Rows)
        rows.remove(self.pick(rows))

    def reorder(self) -> None:
        self.source.shuffle(self.pick([rows for rows in every(self.service, Rows) if not rows.order]))

    def add_entry(self) -> None:
        entries = self.one(Entries)
        entries[word(self.source)] = a_row(self.source, entries.form)

    def remove_entry(self) -> None:
        entries = self.one(Entries)
        if len(entries) > 1:
            del entries[self.pick(list(entries))]

    def key_in_every_row(self) -> None:
        rows = self.one(self.source.choice([Rows, Entries]))
        varying = self.source.choice(BY_NATURE)
        make = self.source.choice([word, lambda _: varying, lambda s: s.randint(0, 99), long_ago])
        for row in rows if isinstance(rows, Rows) else rows.values():
            row[self._name()] = make(self.source)

    def _name(self) -> str:
        return f"new{self.new}"

    def add_key(self) -> None:
        place = self.one(dict)
        if not isinstance(place, Entries):
            make = self.source.choice([literal, lambda s: s.choice(BY_NATURE)])
            place[f"added{self.new}"] = make(self.source)

    def remove_key(self) -> None:
        place = self.one(dict)
        if not isinstance(place, Entries) and len(place) > 1:
            del place[self.pick([key for key in place if key != "id"])]

    def rename_key(self) -> None:
        chosen = self.one(dict)
        of = [rows for rows in every(self.service, Rows) if any(row is chosen for row in rows)]
        alike = (rows for rows in every(self.service, Rows) if of and rows.form is of[0].form)
        all_rows = [row for rows in alike for row in rows] or [chosen]
        key = self.pick([key for key in all_rows[0] if key != "id"])
        for row in all_rows:
            if key in row and not isinstance(row, Entries) and not getattr(row[key], "order", ""):
                renamed = {f"re{name}" if name == key else name: value for name, value in row.items()}
                row.clear()
                row.update(renamed)

    def change_value(self) -> None:
        place = self.one(dict)
        key = self.pick([key for key, value in place.items() if key != "id" and isinstance(value, str | int)])
        place[key] = self.source.choice([f"{word(self.source)}-", None, 1000, [1, 2]])

    def vary_more(self) -> None:
        bounded = [one for one in VARYING if "(" in one.text]
        places = [(one, key) for one in every(self.service, dict) for key in one if one[key] in bounded]
        place, key = self.pick(places)
        place[key] = Varying("", lambda source: source.randint(501, 10**9))

    def change_line(self) -> None:
        lines = self.one(Lines)
        line = self.source.choice(lines)
        line[0] = f"{word(self.source)} {line[0]}" if self.source.random() < 0.5 else f"{word(self.source)}, "

    def add_line(self) -> None:
        lines = self.one(Lines)
        lines.insert(self.source.randint(0, len(lines)), [word(self.source)])

    def remove_line(self) -> None:
        lines = self.one(Lines)
        if len(lines) > 1:
            lines.remove(self.pick(lines))


CHANGES = [
    Change.add_row, Change.remove_row, Change.reorder, Change.add_entry, Change.remove_entry,
    Change.key_in_every_row, Change.add_key, Change.remove_key, Change.rename_key, Change.change_value,
    Change.vary_more,    Change.change_line, Change.add_line, Change.remove_line,
]  # fmt: skip


def change(service: dict[str, Any], source: random.Random) -> list[str]:
    made = []
    for n in range(source.randint(1, 4)):
        kind = source.choice(CHANGES)
        with suppress(LookupError):
            kind(Change(service, source, n))
            made.append(kind.__name__)
    return made


# Whatever is broken of an answer must be seen.

Break = Callable[[Json], object]


def breaks(node: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Break]]:
    """Each way to break an answer at one place."""
    if isinstance(node, Rows) and node:
        yield f"{render(at)} more", lambda answer: value_at(answer, at).append(value_at(answer, (*at, -1)))
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        where = (*at, key)
        yield f"{render(where)} gone", lambda answer, key=key: value_at(answer, at).pop(key)
        if isinstance(child, Lines):
            yield from broken_lines(child, where)
        elif isinstance(child, dict | list):
            yield from breaks(child, where)
        elif not isinstance(child, Varying):
            for new in ([child], not child if isinstance(child, bool | None) else child + type(child)(7)):
                yield f"{render(where)} {new}", partial(put, where, new)


def put(at: tuple[str | int, ...], new: Json, answer: Json) -> None:
    value_at(answer, at[:-1])[at[-1]] = new


def broken_lines(lines: Lines, at: tuple[str | int, ...]) -> Iterator[tuple[str, Break]]:
    for n, line in enumerate(lines):
        for part in line:
            if isinstance(part, str):
                yield f"{render(at)} line {n}", partial(break_line, at, n, part)


def break_line(at: tuple[str | int, ...], n: int, part: str, answer: Json) -> None:
    text = value_at(answer, at).split("\n")
    text[n] = text[n].replace(part, f"{part[:-1]}#")
    put(at, "\n".join(text), answer)


@dataclass
class Approvals:
    """Baselines without files, each approved as a whole."""

    project: Project
    draft: Baseline

    def stored(self, service: dict[str, Any]) -> Baseline:
        output = {"status": 200, "body": captured(service)}
        arrays: dict[str, ArrayMode] = dict.fromkeys(map(render, single_element_arrays(output)), "ordered")
        for key, value in service.items():
            if isinstance(value, Rows) and value.order:
                arrays[f"body.{key}"] = By("id") if value.order == "by id" else "unordered"
        return replace(self.draft, baseline=Known(output=output), comparison=Rules(arrays=arrays))

    def matcher(self, baseline: Baseline) -> Matcher:
        return compile_baseline(baseline, self.project.words_of(baseline))

    def plan(self, baseline: Baseline, resolved: Json) -> RefreshPlan:
        seen = KeptOutput(baseline.id, recipe_hash(baseline.current), resolved, "2026-11-21T10:00:00Z")
        return plan_of(self.project, baseline, seen)

    def refreshed(self, baseline: Baseline, resolved: Json) -> Baseline:
        plan = self.plan(baseline, resolved)
        return with_output(self.project, plan, range(len(plan.changes)))


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    here = Desk(tmp_path)
    here.put("a", "status: 200")
    project = here.project
    return Approvals(project, load(project, ())[0])


def says(service: dict[str, Any], source: random.Random) -> Observation:
    return Observation(output={"status": 200, "body": answered(service, source)}, seconds=0.1)


def trouble(number: int, approvals: Approvals) -> str:
    """What does not converge of one service; empty if all does."""
    source = random.Random(number)
    service = a_service(source)
    first = approvals.stored(service)
    assert approvals.matcher(first).compare(says(service, source)).passed
    second = copy.deepcopy(service)
    made = change(second, source)
    comparison = approvals.matcher(first).compare(says(second, source))
    if comparison.passed:
        return "" if captured(second) == captured(service) else f"{number}: {made} goes unseen"
    matcher = approvals.matcher(approvals.refreshed(first, comparison.resolved))
    for _ in range(COMPARES):
        for found in matcher.compare(says(second, source)).differences:
            return f"{number} {made}: {render(found.path)} {found.kind}: {found.expected!r} {found.actual!r}"
    ways = list(breaks(second))
    hidden = []
    for where, breaks_it in source.sample(ways, min(BROKEN, len(ways))):
        body = answered(second, source, shuffled=False)
        breaks_it(body)
        if matcher.compare(Observation(output={"status": 200, "body": body}, seconds=0.1)).passed:
            hidden.append(where)
    return f"{number} {made}: hidden {hidden}" if hidden else ""


def test_refreshed_baseline_passes_and_hides_nothing(approvals: Approvals) -> None:
    troubles = [what for number in range(SERVICES) if (what := trouble(number, approvals))]
    assert not troubles, "\n".join(troubles)
