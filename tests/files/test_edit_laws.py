"""Generated edits of files full of placeholders, comments and odd styles: the file reads back as wanted, and
what was not edited is there as it was.

Every line of these files ends in a mark of its own where the language lets it, and so does every comment. The
law in full: a mark outside the edited element is still there, once, on the very line that it was on (save a
comma, and the dash that a line shares with its list), and in the same order; an element that moved took its
lines along; a mark on the edited element itself goes only where the element goes."""

import os
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from storehelp import ODD, Hand, same

from baselinekit.files.edit import edited
from baselinekit.files.jsontext import compact, pretty
from baselinekit.files.languages import JSON, YAML, is_text_block, yaml_block, yaml_quoted, yaml_scalar
from baselinekit.model.values import Edit
from baselinekit.values.changes import Hints

pytestmark = pytest.mark.slow

EDITS = 500
ODD_EDITS = 2_000 if os.environ.get("BASELINEKIT_THOROUGH") else 300
PLACEHOLDERS = (
    "<<any_uuid>>", "<<any_string(1, 9)>>", "<<any_number?>>", "<<any_iso_datetime>>",
    "/users/<<any_uuid>>/posts", "<<one_of(a, b)|null>>", "it's <<any>>: # so",
)  # fmt: skip
INDENTS = ("  ", "    ", "\t")
KEYS = ["id", "name", "price", "tags", "status", "created at", "no", "x-y"]
TOP = ("baseline", "output")
MARK = re.compile(r"n\d+_")

Place = tuple[Any, ...]


class Author:
    """An author who writes a file in one style and marks each part of it."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.count = 0
        self.owners: dict[str, Place] = {}
        self.step = rng.choice([2, 2, 4])
        self.quote = rng.choice(["", "", "'", '"'])
        self.comments = rng.choice([0.0, 0.3, 0.6])
        self.blanks = rng.choice([0.0, 0.0, 0.15])

    def likely(self, chance: float) -> bool:
        return self.rng.random() < chance

    def mark(self, owner: Place) -> str:
        self.count += 1
        self.owners[f"n{self.count}_"] = owner
        return f"n{self.count}_"

    def end(self, owner: Place) -> str:
        return f"{self.rng.choice([' ', '  '])}# {self.mark(owner)}\n" if self.likely(0.7) else "\n"

    def document(self, value: Any) -> str:
        body = "# the file\n\nid: x\nbaseline:\n" + self.rng.choice(["", "  # said once\n"])
        record = self.below(value, (), 2, "  output:")
        text = f"{body}{record}  captured_at: '2026'  # kept\nmetadata: {{a: 1}} # kept\n"
        if self.likely(0.2):
            text = text.replace("\n", "\r\n")
        return text.removesuffix("\n") if self.likely(0.1) and not text.endswith("\r\n") else text

    def entries(self, value: Any, at: Place, column: int, lead: str = "") -> str:
        """A collection in block style. `lead`: what the first line begins with."""
        text = ""
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for number, (name, item) in enumerate(pairs):
            mine = (*at, name)
            if number and self.likely(self.blanks):
                text += "\n"
                if self.likely(0.3):
                    text += f"{' ' * column}# loose {self.mark((*at, None))}\n\n"
            if not lead and self.likely(self.comments):
                text += f"{' ' * column}# about {self.mark(mine)}\n"
            start = lead or " " * column
            key = "-" if isinstance(value, list) else self.key(name) + ":"
            text += self.below(item, mine, column, start + key)
            lead = ""
        return text

    def key(self, name: str) -> str:
        return yaml_quoted(name, self.quote) if self.quote else yaml_scalar(name)

    def below(self, item: Any, at: Place, column: int, start: str) -> str:
        if isinstance(item, dict | list) and item:
            if self.likely(0.15):
                return f"{start} {self.flow(item)}{self.end(at)}"
            if self.likely(0.12):
                return f"{start} {self.rows(item, column + self.step)}{self.end(at)}"
            if start.endswith("-"):
                return self.entries(item, at, column + 2, start + " ")
            inner = column if isinstance(item, list) and self.likely(0.3) else column + self.step
            return start + self.end(at) + self.entries(item, at, inner)
        if is_text_block(item):
            inner = 2 if start.endswith("-") else self.step
            lines = yaml_block(item, column + inner, inner)
            return f"{start} " + "\n".join(lines) + "\n"
        return f"{start} {self.scalar(item)}{self.end(at)}"

    def rows(self, item: Any, column: int) -> str:
        """Flow style over several lines."""
        pairs = item.items() if isinstance(item, dict) else [(n, each) for n, each in enumerate(item)]
        indent = " " * column
        text = ""
        comma = self.rng.choice(["", ","])
        for number, (name, each) in enumerate(pairs):
            key = f"{self.key(name)}: " if isinstance(item, dict) else ""
            between = "," if number + 1 < len(item) else comma
            text += f"{indent}{key}{self.flow(each)}{between}\n"
        opens, closes = "{}" if isinstance(item, dict) else "[]"
        return f"{opens}\n{text}{' ' * (column - self.step + 1)}{closes}"

    def flow(self, item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{self.key(k)}: {self.flow(each)}" for k, each in item.items()) + "}"
        if isinstance(item, list):
            return "[" + ", ".join(map(self.flow, item)) + "]"
        return yaml_quoted(item, self.quote) if isinstance(item, str) else yaml_scalar(item)

    def scalar(self, item: Any) -> str:
        if isinstance(item, str) and (self.quote or self.likely(0.2)):
            return yaml_quoted(item, self.quote)
        return yaml_scalar(item)


class World:
    """Values that all differ, so that it is plain which element an edit was about."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.count = 0

    def own(self) -> Any:
        self.count += 1
        n = self.count
        return self.rng.choice([n, n + 0.5, f"text {n}", f"2026-01-{n:04}", f"<<contains({n})>>"])

    def scalar(self) -> Any:
        odd = [True, None, "", "no", "line one\nline two\n", "a\n\nb", "  x\ny\n"]
        return self.rng.choice(
            [self.own, lambda: self.rng.choice(PLACEHOLDERS), lambda: self.rng.choice(odd)]
        )()

    def mapping(self, depth: int) -> dict[str, Any]:
        keys = self.rng.sample(KEYS, self.rng.randrange(2, 6))
        return {key: self.value(depth - 1) for key in keys} | {"name": self.own()}

    def value(self, depth: int) -> Any:
        kind = self.rng.random()
        if depth <= 0 or kind < 0.3:
            return self.scalar()
        if kind < 0.6:
            return self.mapping(depth)
        if kind < 0.7:
            return [self.own() for _ in range(self.rng.randrange(0, 6))]
        if kind < 0.8:
            return [[self.own(), self.own()] for _ in range(self.rng.randrange(1, 4))]
        return [self.mapping(depth - 1) for _ in range(self.rng.randrange(1, 6))]


def places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    yield at, value
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, name))


def at_path(value: Any, path: Place) -> Any:
    for step in path:
        value = value[step]
    return value


class Edited:
    """One edit: the new value, the element that it was about (None: one that was not there before), whether
    that is gone now, the array that it put into another order, and the collection that it added to."""

    def __init__(self, kind: str, old: Any, world: World):
        self.kind, self.rng, self.world = kind, world.rng, world
        self.new = deepcopy(old)
        self.about: Place | None = None
        self.gone = False
        self.shuffled: Place | None = None
        self.extended: Place | None = None
        getattr(self, kind)()

    def some(self, wanted: Any) -> Place | None:
        found = [at for at, value in places(self.new) if at and wanted(value, at_path(self.new, at[:-1]))]
        return self.rng.choice(found) if found else None

    def put(self, at: Place, value: Any) -> None:
        self.about = at
        at_path(self.new, at[:-1])[at[-1]] = value

    def value(self) -> None:
        at = self.some(lambda value, _: not isinstance(value, dict | list))
        if at is not None:
            self.put(at, self.world.own())

    def retype(self) -> None:
        at = self.some(lambda *_: True)
        if at is not None:
            choices = [None, [], {}, self.world.mapping(1), [self.world.own()], self.world.own()]
            self.put(at, self.rng.choice(choices))

    def drop_key(self) -> None:
        at = self.some(lambda _, parent: isinstance(parent, dict))
        if at is not None:
            self.about, self.gone = at, True
            del at_path(self.new, at[:-1])[at[-1]]

    def add_key(self) -> None:
        boxes = [(at, value) for at, value in places(self.new) if isinstance(value, dict)]
        if boxes:
            self.extended, box = self.rng.choice(boxes)
            items = list(box.items())
            items.insert(self.rng.randrange(len(items) + 1), ("new key", self.world.value(2)))
            box.clear()
            box.update(items)

    def rows(self) -> tuple[Place, list[Any]] | None:
        found = [(at, value) for at, value in places(self.new) if isinstance(value, list) and value]
        return self.rng.choice(found) if found else None

    def insert(self) -> None:
        found = self.rows()
        if found:
            self.extended, rows = found
            new = self.world.own() if self.rng.random() < 0.3 else {"name": self.world.own(), "tags": ["a"]}
            rows.insert(self.rng.choice([0, len(rows) // 2, len(rows)]), new)

    def delete(self) -> None:
        found = self.rows()
        if found:
            at, rows = found
            number = self.rng.randrange(len(rows))
            self.about, self.gone = (*at, number), True
            del rows[number]

    def reorder(self) -> None:
        found = self.rows()
        if found:
            self.shuffled = found[0]
            self.rng.shuffle(found[1])


KINDS = ("value", "retype", "drop_key", "add_key", "insert", "insert", "delete", "reorder")


def line_of(text: str, mark: str) -> str:
    """The line with a mark, without what its neighbours may change about it."""
    start = text.index(mark)
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return re.sub(r",(\s*#)", r"\1", line).lstrip(" -")


def in_order(marks: list[str], text: str) -> bool:
    return all(text.index(first) < text.index(other) for first, other in pairwise(marks))


def check(edit: Edited, owners: dict[str, Place], before: str, after: str) -> None:
    about = [mark for mark in owners if edit.about is not None and is_below(owners[mark], edit.about)]
    own = [mark for mark in about if owners[mark] == edit.about]
    kept = [mark for mark in owners if mark not in about]
    for mark in [*kept, *([] if edit.gone else own)]:
        assert after.count(mark) == 1, f"{mark} is lost, or occurs twice"
    for mark in kept:
        lines = line_of(before, mark), line_of(after, mark)
        assert lines[0] == lines[1] or shares_line(edit, owners[mark], "".join(lines))
    if edit.gone:
        assert not any(mark in after for mark in about), "a comment of what is gone is left"
    if edit.shuffled is None:
        assert in_order(kept, after)
        return
    depth = len(edit.shuffled)
    assert in_order([mark for mark in kept if not is_below(owners[mark], edit.shuffled)], after)
    rows = {owners[mark][: depth + 1] for mark in kept if is_below(owners[mark], edit.shuffled)}
    for row in rows - {edit.shuffled}:
        mine = [mark for mark in kept if is_below(owners[mark], row)]
        assert in_order(mine, after), "an element that moved was torn"


def is_below(place: Place, top: Place) -> bool:
    return place[: len(top)] == top


def shares_line(edit: Edited, owner: Place, line: str) -> bool:
    """Whether the edit was inside of this line, as it is in flow style, or where a collection is empty."""
    touched = next(place for place in (edit.about, edit.shuffled, edit.extended, ()) if place is not None)
    return is_below(touched, owner) and ("[" in line or "{" in line)


@pytest.mark.parametrize("first", range(0, EDITS, 50))
def test_edited_generated_yaml_keeps_everything_else(first: int) -> None:
    for seed in range(first, first + 50):
        rng = random.Random(seed)
        world = World(rng)
        value = rng.choice([world.mapping(3), {"status": 200, "body": {"rows": world.value(3), "page": 1}}])
        author = Author(rng)
        body = author.document(value)
        old = YAML.load(body, "")[0]
        assert same(at_path(old, TOP), value), body
        edit = Edited(KINDS[seed % len(KINDS)], value, world)
        text = edited(body, [Edit(TOP, edit.new)], YAML)
        wanted = {**old, "baseline": {**old["baseline"], "output": edit.new}}
        try:
            assert YAML.load(text, "") == [wanted]
            check(edit, author.owners, body, text)
        except AssertionError as error:
            raise AssertionError(
                f"{seed}: {edit.kind} {edit.about} {edit.shuffled}: {error}\n{body}\n=>\n{text}"
            ) from None
        assert edited(body, [Edit(TOP, value)], YAML) == body
        assert edited(text, [Edit(TOP, edit.new)], YAML) == text


@pytest.mark.parametrize("first", range(0, ODD_EDITS, 100))
def test_edited_generated_yaml_of_any_style_reads_back(first: int) -> None:
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        world = World(rng)
        value = {"a": world.value(3), "b": [rng.choice(ODD), rng.choice(ODD), world.mapping(2)]}
        record = {"id": "x", "baseline": {"output": value}, "metadata": {"failure_count": 0}}
        body = Hand(rng.choice).document([{"id": "y"}, record])
        old = YAML.load(body, "")[0]
        new = Edited(rng.choice(KINDS), Edited(rng.choice(KINDS), value, world).new, world).new
        text = edited(body, [Edit((1, *TOP), new)], YAML)
        assert YAML.load(text, "")[0] == [old[0], {**old[1], "baseline": {"output": new}}], f"{seed}\n{body}"
        assert edited(body, [Edit((1, *TOP), at_path(old, (1, *TOP)))], YAML) == body


@pytest.mark.parametrize("first", range(0, ODD_EDITS, 100))
def test_edited_generated_json_equals_written_json(first: int) -> None:
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        world = World(rng)
        record = {"baseline": {"output": world.mapping(3)}, "metadata": {"failure_count": 0}}
        ways = [compact, *(partial(pretty, step=i) for i in INDENTS)]
        write = rng.choice(ways)
        edit = Edited(rng.choice(KINDS), record["baseline"]["output"], world)
        body = write(record)
        text = edited(body, [Edit(TOP, edit.new)], JSON, hints=Hints(ordered=True))
        record["baseline"]["output"] = edit.new
        assert JSON.load(text, "") == [record]
        assert text == write(record), f"{seed} {edit.kind}"
