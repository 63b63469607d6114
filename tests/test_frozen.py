"""A class made by @frozen is as `@dataclass(frozen=True, slots=True)` makes it: equality, hash, its look."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from baselinekit.frozen import frozen, slotted

Maker = Callable[[type[Any]], type[Any]]


def made_by(maker: Maker) -> tuple[type[Any], ...]:
    """The same classes, of each maker."""

    @maker
    class Empty:
        """Without a field."""

    @maker
    class One:
        value: object

    @maker
    class Point:
        """With a default, a factory, and a field that is no part of what is compared and shown."""

        x: int
        y: float = 0
        tags: tuple[str, ...] = field(default_factory=tuple)
        note: str = field(default="", compare=False, repr=False)

    @maker
    class Checked:
        name: str

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("a name")

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Checked) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return f"<{self.name}>"

    return Empty, One, Point, Checked


OURS = made_by(frozen)
THEIRS = made_by(dataclass(frozen=True, slots=True))
VALUES: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = [
    (0, (), {}),
    *((1, (value,), {}) for value in (1, True, 1.0, "1", None, (), float("nan"))),
    (2, (1,), {}),
    (2, (1, 0.0), {"note": "other"}),
    (2, (1, -1), {"tags": ("a", "b")}),
    *((3, (name,), {}) for name in ("ada", "Ada", "bob")),
]


def all_of(classes: tuple[type[Any], ...]) -> list[Any]:
    return [classes[number](*given, **named) for number, given, named in VALUES]


def test_values_are_equal_where_those_of_dataclasses_are() -> None:
    ours, theirs = all_of(OURS), all_of(THEIRS)
    for ours_left, theirs_left in zip(ours, theirs, strict=True):
        for ours_right, theirs_right in zip(ours, theirs, strict=True):
            assert (ours_left == ours_right) is (theirs_left == theirs_right)
            if ours_left == ours_right:
                assert hash(ours_left) == hash(ours_right)
        assert ours_left != theirs_left


def test_values_are_shown_as_those_of_dataclasses() -> None:
    assert [repr(value) for value in all_of(OURS)] == [repr(value) for value in all_of(THEIRS)]


def test_fields_match_and_replacing_are_those_of_dataclasses() -> None:
    for ours, theirs in zip(OURS, THEIRS, strict=True):
        assert [one.name for one in fields(ours)] == [one.name for one in fields(theirs)]
        assert ours.__match_args__ == theirs.__match_args__
        assert ours.__slots__ == theirs.__slots__
    point = OURS[2](1, note="n")
    assert replace(point, x=2) == OURS[2](2)
    assert asdict(point) == {"x": 1, "y": 0, "tags": (), "note": "n"}
    with pytest.raises(TypeError):
        OURS[2]()
    with pytest.raises(ValueError, match="a name"):
        OURS[3]("")


@frozen
class Sent:
    """A value that goes to another process, which has the class by its name."""

    name: str
    inner: "Sent | None" = None


def test_a_value_can_be_sent_and_copied() -> None:
    sent = Sent("a", Sent("b"))
    assert pickle.loads(pickle.dumps(sent)) == sent == copy.deepcopy(sent)
    assert {sent: 1}[Sent("a", Sent("b"))] == 1
    unhashable: Any = []
    with pytest.raises(TypeError):
        hash(Sent("a", unhashable))


def test_what_is_slotted_changes_and_is_equal_to_itself_alone() -> None:
    @slotted
    class Node:
        """With a factory."""

        name: str
        below: list["Node"] = field(default_factory=list)

    one, other = Node("a"), Node("a")
    one.name = "b"
    one.below.append(one)
    assert (one == one, one == other, len({one, other}), other.below) == (True, False, 2, [])
    assert repr(one) == f"{Node.__qualname__}(name='b', below=[...])"


def test_mypy_is_told_that_nobody_assigns_to_a_field_and_slots_refuse_any_other_name() -> None:
    made: Any = frozen
    told = made.__dataclass_transform__
    assert {**told["kwargs"], **told}["frozen_default"] is True  # Python 3.11 keeps it with the further ones
    with pytest.raises(AttributeError):
        OURS[2](1).z = 1
