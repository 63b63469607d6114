"""What importers of snapshots make of names, of the code of tests, and of files that nobody would write."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.files import libyaml
from baselinekit.importers import amber, inlinesnapshots, regressions, syrupy
from baselinekit.importers.pyvalues import LostValue, PlaceholderText, value_of_repr
from baselinekit.importers.testcode import OneTest, SnapshotImport, SnapshotSources, TestsOfFile, told_apart


def moved(tool, files: dict[str, str]) -> SnapshotImport:
    moving, contents = SnapshotImport(), {name: text.encode() for name, text in files.items()}
    tool.read(SnapshotSources([*files], lambda name: contents.get(name, b""), lambda: [*files]), moving)
    return moving


def shown(moving: SnapshotImport) -> dict[tuple[str, str | None], object]:
    return {
        (one.test.partition("::")[2], one.name): one.placeholders.get((), one.value) for one in moving.values
    }


def lost(moving: SnapshotImport) -> list[str]:
    return [f"{one.file}:{one.line}: {one.message}" for one in moving.left_out]


REPRS = [
    ("1", 1),
    ("-1.5", -1.5),
    ("'a'", "a"),
    ("b'\\xff'", {"base64": "/w=="}),
    ("{2, 10, 1}", [1, 10, 2]),
    ("frozenset()", []),
    ("OrderedDict([('a', 1)])", {"a": 1}),
    ("defaultdict(None, {1: 'x'})", {"1": "x"}),
    ("datetime.datetime(2024, 2, 29, 0, 0, tzinfo=<UTC>)", "2024-02-29T00:00:00+00:00"),
    (
        "datetime.datetime(2024, 2, 29, 0, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC'))",
        "2024-02-29T00:00:00+00:00",
    ),
    (
        "datetime.datetime(2024, 2, 29, tzinfo=<DstTzInfo 'Europe/Berlin' CET+1:00:00 STD>)",
        "2024-02-29T00:00:00+01:00",
    ),
    ("<Color.RED: <Inner.A: 'it > that'>>", "it > that"),
    ("User(id=UUID('6F7A7B5E9D3C4E5F8A7B1C2D3E4F5A6B'))", {"id": "6f7a7b5e-9d3c-4e5f-8a7b-1c2d3e4f5a6b"}),
    ("array([1.5,\n       2. ])", [1.5, 2.0]),
    ("np.float32(0.1)", 0.10000000149011612),
    ("Timestamp('2024-02-29 10:00:00')", "2024-02-29T10:00:00"),
    ("<ANY>", PlaceholderText("<<any>>")),
]


@pytest.mark.parametrize(("text", "value"), REPRS)
def test_a_repr_is_the_value_that_wrote_it(text: str, value: object) -> None:
    assert value_of_repr(text) == value


LOST = [
    *("nan", "float('inf')", "Decimal('NaN')", "1j", "...", "array([1, ..., 3])", "Money(5, 'EUR')"),
    *("<app.Cache object at 0x7f3a0c>", "<class 'int'>", "foo", "x.y", "f(1) + 2", "UUID('x')", "lambda: 1"),
    *(
        "datetime.datetime(2024, 13, 1)",
        "datetime.datetime(2024, 1, 1, tzinfo=ZoneInfo(key='Europe/Berlin'))",
    ),
    *(
        "__import__('os').system('true')",
        "open('x').read()",
        "[*x]",
        "{**x}",
        "{(1, 2): 3}",
        "(" * 500,
        "[" * 90 + "]" * 90,
    ),
    *("", "'", "1" * 5000, "\x00", "Decimal('1e99999999999999999999')", "Fraction(1, 0)", "exec('1')"),
]


@pytest.mark.parametrize("text", LOST, ids=range(len(LOST)))
def test_what_says_no_value_is_told_and_never_run(text: str) -> None:
    with pytest.raises(LostValue):
        value_of_repr(text)


@given(st.text(max_size=60) | st.from_regex(r"[\[\](){}<>'\",.:=\w \n]{0,60}", fullmatch=True))
def test_whatever_a_repr_holds_it_is_a_value_or_lost(text: str) -> None:
    with suppress(LostValue):
        value_of_repr(text)


@given(
    st.text(max_size=200)
    | st.from_regex(
        r"(?:# name: t\n|# ---\n|  [a-z]+\(\{?\n|  +'''\n|  +\}\),?\n| +'a': 1,\n){0,12}", fullmatch=True
    )
)
def test_whatever_an_amber_file_holds_each_entry_is_a_value_or_lost(text: str) -> None:
    for entry in amber.entries(text):
        with suppress(LostValue):
            amber.value_of(entry)


@given(
    st.text(max_size=120)
    | st.from_regex(
        r"(?:[a-c]: |- |&a |\*a |!!python/object:x\.Y |<<: |\{|\}|\[|\]|\n| {2}|2024-01-0\d ?|0x1f){0,20}",
        fullmatch=True,
    )
)
def test_whatever_a_yaml_file_holds_it_is_values_or_an_error_with_its_place(text: str) -> None:
    found: InvalidInput | None = None
    try:
        libyaml.load_foreign(text, "x.yml")
    except InvalidInput as error:
        found = error
    if found is not None:
        place = found.problems[0].place
        assert place is not None
        assert place.file == "x.yml"


YAML = [
    ("yes", True),
    ("'yes'", "yes"),
    ("0x1f", 31),
    ("017", 15),
    ("1:30", 90),
    ("1_000", 1000),
    ("1e3", "1e3"),
    ("1.0e+3", 1000.0),
    ("2024-02-29", "2024-02-29"),
    ("2024-02-29 10:00:00.5 +02:00", "2024-02-29T10:00:00.500000+02:00"),
    ("!!set {b, a}", ["a", "b"]),
    ("!!binary aGk=", "hi"),
    ("{<<: {a: 1, b: 2}, b: 3}", {"a": 1, "b": 3}),
    ("[&x {a: 1}, *x]", [{"a": 1}, {"a": 1}]),
    ("!!python/tuple [1]", [1]),
]


@pytest.mark.parametrize(("text", "value"), YAML)
def test_yaml_is_read_as_the_tools_wrote_it(text: str, value: object) -> None:
    (read,) = libyaml.load_foreign(text, "x.yml")
    assert regressions.json_of_yaml(read) == value


HOSTILE_YAML = {
    "circular": ("&a [*a]", "nested too deeply"),
    "bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(6)
        ),
        "expand to too many",
    ),
    "deep": ("[" * 2000 + "]" * 2000, "nesting depth"),
    "broken": ("a: [1\nb: 2", "not valid YAML"),
    "digits": ("9" * 1500, "digits"),
    "a mapping as a key": ("? {a: 1}\n: 2", "not of the type"),
}


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_hostile_yaml_is_refused_with_its_line(name: str) -> None:
    text, what = HOSTILE_YAML[name]
    with pytest.raises(InvalidInput) as caught:
        libyaml.load_foreign(text, "x.yml")
    assert what in str(caught.value)
    assert caught.value.problems[0].place.line


@pytest.mark.parametrize(
    "tag",
    [
        "python/object/apply:os.system",
        "python/object/new:os.system",
        "python/name:os.system",
        "python/object:x.Y",
        "mine",
    ],
)
def test_a_tag_builds_nothing(tag: str) -> None:
    mark = f"!{tag}" if tag == "mine" else f"!!{tag}"
    files = {
        "tests/test_x.py": "def test_y(data_regression): ...\n",
        "tests/test_x/test_y.yml": f"a: 1\nb: {mark} [touch, /tmp/x]\n",
    }
    moving = moved(regressions, files)
    assert moving.values == []
    named = "!mine" if tag == "mine" else tag
    what = f"a value with the tag !!{named}, which would build an object"
    assert lost(moving) == [f"tests/test_x/test_y.yml:2: {what}"]


def test_names_in_amber_are_told_apart_by_the_test() -> None:
    code = """\
import pytest
class TestX:
    @pytest.mark.parametrize("a", ["one", "two][x"])
    def test_p(self, a, snapshot): assert 1 == snapshot
def test_n(snapshot): assert 1 == snapshot(name="list")
@pytest.mark.parametrize("a", ["one"])
def test_both(a, snapshot): assert 1 == snapshot(name="list")
def test_fixture(role, snapshot): assert 1 == snapshot
"""
    names = [
        "TestX.test_p[one]",
        "TestX.test_p[two][x].1",
        "test_n[list]",
        "test_both[one][list]",
        "test_fixture[admin].2",
        "test_old[a][b]",
    ]
    text = "# serializer version: 1\n" + "".join(f"# name: {name}\n  1\n# ---\n" for name in names)
    moving = moved(syrupy, {"t/test_x.py": code, "t/__snapshots__/test_x.ambr": text})
    assert [*shown(moving)] == [
        ("TestX::test_p[one]", None),
        ("TestX::test_p[two][x]", "1"),
        ("test_n", "list"),
        ("test_both[one]", "list"),
        ("test_fixture[admin]", "2"),
        ("test_old[a]", "b"),
    ]
    assert any("test_old" in note for note in moving.notes)


PARAMETERS = [
    ('"a", [1, 2.5, True, None, "x y"]', ["1", "2.5", "True", "None", "x y"]),
    ('"a,b", [(1, "x"), (2, {})]', ["1-x", "2-b1"]),
    ('("a", "b"), [pytest.param(1, 2, id="first"), (3, [4])]', ["first", "3-b1"]),
    ('"a", ["é", "a\\nb"]', ["\\xe9", "a\\nb"]),
    ('"a", ["x", "x", "y"]', ["x0", "x1", "y"]),
    ('"a", [1, 1]', ["1_0", "1_1"]),
    ('"a", CASES, ids=["one", "two"]', ["one", "two"]),
    ('"a", CASES', ["p", "q"]),
    ('"a", [Color.RED]', ["Color.RED"]),
    ('"a", [make()]', None),
    ('"a", range(3)', None),
    ('"a", [1], ids=str', ["1"]),
]


@pytest.mark.parametrize(("stated", "ids"), PARAMETERS)
def test_ids_of_parameters_are_those_that_pytest_gives(stated: str, ids: list[str] | None) -> None:
    """Each was read off `pytest --collect-only`."""
    code = f"""\
import enum, pytest
CASES = ["p", "q"]
class Color(enum.Enum):
    RED = 1
@pytest.mark.parametrize({stated})
def test_x(a, b=None): ...
"""
    (test,) = TestsOfFile("test_x.py", code).tests
    assert test.params == (None if ids is None else tuple(ids))


def test_decorators_are_joined_from_the_nearest_on() -> None:
    code = """\
import pytest
pytestmark = pytest.mark.parametrize("m", ["module"])
@pytest.mark.parametrize("c", ["class"])
class TestX:
    @pytest.mark.parametrize("far", ["f1", "f2"])
    @pytest.mark.parametrize("near", ["n1", "n2"])
    def test_x(self, far, near, c, m): ...
"""
    (test,) = TestsOfFile("test_x.py", code).tests
    assert test.params == (
        "n1-f1-class-module",
        "n1-f2-class-module",
        "n2-f1-class-module",
        "n2-f2-class-module",
    )
    assert test.node_id("n1") == "test_x.py::TestX::test_x[n1]"


FIXTURES = [
    ('@pytest.fixture(params=["a", pytest.param("b", marks=x)])\ndef role(request): ...', "role", ("a", "b")),
    ('@pytest.fixture(name="role", params=["a"])\ndef get(request): ...', "role", ("a",)),
    ('@pytest.fixture(params=["a"])\ndef mod(): ...\n@pytest.fixture\ndef role(mod): ...', "role", ("a",)),
    ('@pytest.fixture(params=[1, {}], ids=["one", "two"])\ndef role(): ...', "role", ("one", "two")),
    ("@pytest.fixture(params=[1, {}], autouse=True)\ndef other(): ...", "role", ("1", "other1")),
    ("@pytest.fixture(params=all())\ndef role(): ...", "role", None),
    ('@pytest.fixture(params=["a"])\ndef role(): ...', "tmp_path", (None,)),
    ("@pytest.fixture\ndef role(): ...", "role", (None,)),
]


@pytest.mark.parametrize(("fixture", "asked", "ids"), FIXTURES)
def test_parameters_of_fixtures_count(fixture: str, asked: str, ids: tuple[str, ...] | None) -> None:
    """Each was read off `pytest --collect-only`."""
    (test,) = TestsOfFile("test_x.py", f"import pytest\n{fixture}\ndef test_x({asked}): ...\n").tests
    assert test.params == ids


def test_fixtures_of_the_folders_above_count() -> None:
    files = {
        "tests/conftest.py": "import pytest\n@pytest.fixture(params=[1])\ndef role(): ...\n",
        "tests/unit/test_x.py": "def test_x(role): ...\ndef test_y(): ...\n",
    }
    found = SnapshotSources([], lambda name: files.get(name, "").encode()).tests("tests/unit/test_x.py")
    assert found is not None
    assert [test.params for test in found.tests] == [None, (None,)]


def test_ids_that_come_again_are_numbered() -> None:
    assert told_apart(["a", "a", "a0", "1", "1"]) == ["a1", "a2", "a0", "1_0", "1_1"]


def test_inherited_tests_are_those_of_the_class() -> None:
    code = "class Base:\n    def test_a(self): ...\nclass TestX(Base):\n    def test_b(self): ...\n"
    tests = TestsOfFile("test_x.py", code).tests
    assert [test.node_id(None) for test in tests if test.classes == ("TestX",)] == [
        "test_x.py::TestX::test_a",
        "test_x.py::TestX::test_b",
    ]


INLINE = """\
from dataclasses import dataclass, field
from dirty_equals import IsDatetime, IsInt, IsOneOf, IsStr, IsUUID, HasLen, IsNegative
from inline_snapshot import Is, HasRepr, external, outsource, snapshot as snap

@dataclass
class Item:
    id: int
    tags: list[str] = field(default_factory=list)
    note: str = "none"

EXPECTED = snap({"a": 1})

"""


def inline(body: str, **files: str) -> SnapshotImport:
    test = "def test_x():\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    return moved(
        inlinesnapshots,
        {"tests/test_x.py": INLINE + test, **{k.replace("|", "/"): v for k, v in files.items()}},
    )


CARRIED = [
    ("assert x == snap([1, 'a'])", [1, "a"]),
    ("assert x == snap(IsUUID)", "<<any_uuid>>"),
    ("assert x == snap(IsUUID(4))", "<<any_uuid(4)>>"),
    ("assert x == snap(IsInt(gt=0, le=9))", "<<any_integer(1,9)>>"),
    ('assert x == snap(IsStr(regex="it\'s [0-9]+"))', "<<regex('it''s [0-9]+')>>"),
    ("assert x == snap(IsStr() | None)", "<<any_string|null>>"),
    ("assert x == snap(IsOneOf('a', 2, None))", "<<one_of('a',2,null)>>"),
    ("assert x == snap(HasLen(2, 3))", "<<length(2,3)>>"),
    ("assert x == snap(IsDatetime(iso_string=True))", "<<any_iso_datetime>>"),
    ("assert x == snap(Is('a'))", "a"),
    ("assert x == snap(HasRepr(Item, 'Item(id=1)'))", {"id": 1}),
    ("assert x == snap(Item(id=1))", {"id": 1, "tags": [], "note": "none"}),
    ("assert x == snap(Item(2, ['a']))", {"id": 2, "tags": ["a"], "note": "none"}),
    ("check(x, snap('a' 'b'))", "ab"),
]


@pytest.mark.parametrize(("body", "value"), CARRIED, ids=range(len(CARRIED)))
def test_a_snapshot_in_the_source_is_carried_over(body: str, value: object) -> None:
    moving = inline(body)
    assert shown(moving) == {("test_x", None): value}
    assert [one.new for one in moving.changes] == ["baseline"]


NOT_CARRIED = {
    "assert x <= snap(3)": "no equality",
    "assert 1 in snap([1])": "no equality",
    "assert x == snap({'a': 1})['a']": "a snapshot of parts",
    "assert x == snap(y)": "`y`, which only the test's run can tell",
    "assert x == snap(f'{y}')": "an f-string",
    "assert x == snap(Unknown(a=1))": "Unknown(…): what it makes",
    "assert x == snap(Item())": "of which `id` is not written",
    "assert x == snap(IsNegative)": "`IsNegative`, which only the test's run can tell",
    "assert x == snap(IsStr(regex=y))": "IsStr(…), for which no placeholder stands",
    "assert x == snap(external('hash:00*.json'))": "external('hash:00*.json'), for which there is no file",
    "assert x == snap([1 + y])": "`y`, which only the test's run can tell",
}


@pytest.mark.parametrize("body", NOT_CARRIED)
def test_what_only_a_run_can_tell_is_listed_with_its_line(body: str) -> None:
    found = [one for one in lost(inline(body)) if "outside of a test" not in one]
    assert len(found) == 1
    assert found[0].startswith("tests/test_x.py:14: test_x: ")
    assert NOT_CARRIED[body] in found[0]


def test_a_snapshot_outside_of_a_test_is_listed() -> None:
    what = "a snapshot outside of a test function: which test's value it is, only a run can tell"
    assert lost(inline("assert x == snap(1)")) == [f"tests/test_x.py:11: {what}"]


def test_values_kept_outside_of_the_source_are_found() -> None:
    outside = {".inline-snapshot|external|0011aa.json": '{"a": [1]}'}
    assert shown(inline("assert x == snap(external('hash:0011*.json'))", **outside)) == {
        ("test_x", None): {"a": [1]}
    }
    twice = outside | {".inline-snapshot|external|0011bb.json": "1"}
    told = lost(inline("assert x == snap(external('hash:0011*.json'))", **twice))
    assert any("2 files" in one for one in told)
    text = {"tests|__inline_snapshot__|test_x|test_x|6f7a.txt": "a\n"}
    assert shown(inline("assert x == snap(external('uuid:6f7a.txt'))", **text)) == {("test_x", None): "a\n"}


def test_values_of_one_test_are_numbered_from_the_second_on() -> None:
    moving = inline("assert x == snap(1)\nassert x == snap(2)\nassert x == snap(3)")
    assert shown(moving) == {("test_x", None): 1, ("test_x", "2"): 2, ("test_x", "3"): 3}


def test_files_are_matched_with_tests_as_pytest_regressions_names_them() -> None:
    code = """\
import pytest
class TestA:
    def test_m(self, data_regression): ...
class TestB:
    @pytest.mark.parametrize("a", ["x-1", "y/2"])
    def test_p(self, a, data_regression): ...
def test_b(data_regression, file_regression):
    data_regression.check({}, basename="other")
def test_odd(role, data_regression): ...
"""
    files = {
        "t/test_x.py": code,
        "t/test_x/test_m.yml": "1",
        "t/test_x/TestB_test_p_x_1_.yml": "2",
        "t/test_x/test_p_y_2_.yml": "3",
        "t/test_x/test_b.yml": "4",
        "t/test_x/test_b.txt": "5",
        "t/test_x/other.yml": "6",
        "t/test_x/test_odd_admin_.yml": "7",
        "t/test_x/test_odd_a_b_.yml": "8",
        "t/test_x/input.json": "{}",
        "t/test_x/test_m.obtained.yml": "9",
    }
    moving = moved(regressions, files)
    assert shown(moving) == {
        ("TestA::test_m", None): 1,
        ("TestB::test_p[x-1]", None): 2,
        ("TestB::test_p[y/2]", None): 3,
        ("test_b", None): 4,
        ("test_b", "txt"): "5",
        ("test_b", "other"): 6,
        ("test_odd[admin]", None): 7,
    }
    assert lost(moving) == [
        "t/test_x/test_odd_a_b_.yml:0: no test of t/test_x.py is called so, nor names it: which value is it?"
    ]
    assert [note for note in moving.notes if "input.json" in note]


@pytest.mark.slow
def test_a_huge_amber_file_takes_a_time_that_grows_with_it() -> None:
    rows = "".join(
        f"    dict({{\n      'id': {number},\n      'name': 'x',\n    }}),\n" for number in range(20_000)
    )
    text = f"# serializer version: 1\n# name: test_x\n  list([\n{rows}  ])\n# ---\n"
    (value,) = moved(syrupy, {"t/__snapshots__/test_x.ambr": text}).values
    assert len(value.value) == 20_000


def test_a_test_is_a_record_of_its_file() -> None:
    (test,) = TestsOfFile("test_x.py", "async def test_x(a, *, b): ...").tests
    assert isinstance(test, OneTest)
    assert test.arguments == ["a", "b"]


@pytest.mark.parametrize(
    ("head", "labels", "rows"),
    [
        ("", ["0", "1"], [{"n": 1}, {"n": 2}]),
        ("", ["a", "b"], [{"index": "a", "n": 1}, {"index": "b", "n": 2}]),
        ("day", ["7", "9"], [{"day": 7, "n": 1}, {"day": 9, "n": 2}]),
    ],
)
def test_the_rows_of_a_frame_keep_labels_that_are_no_count(
    head: str, labels: list[str], rows: list[object]
) -> None:
    """As the library compares a data frame."""
    table = f"{head},n\n{labels[0]},1\n{labels[1]},2\n"
    source = "def test_y(dataframe_regression): dataframe_regression.check(table())\n"
    moving = moved(regressions, {"tests/test_x.py": source, "tests/test_x/test_y.csv": table})
    assert [one.value for one in moving.values] == [rows]
    assert not moving.notes
