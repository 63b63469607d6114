"""Which file holds a value of a test: the rule of the plugin and of `convert`."""

import string

import pytest
from hypothesis import given, strategies as st

from baselinekit.kinds.pytest import file_of, id_of
from baselinekit.store.dialects.native import ID

PLAIN = [
    ("tests/test_api.py::test_list", None, "tests/test_api/test_list"),
    ("tests/test_api.py::TestUsers::test_list[a]", None, "tests/test_api/TestUsers.test_list-a"),
    ("tests/test_api.py::TestUsers::TestNew::test_list", "first",
     "tests/test_api/TestUsers.TestNew.test_list.first"),
    ("tests/test_api.py::test_list[1.5-get]", "2nd", "tests/test_api/test_list-1.5-get.2nd-#"),
    ("tests/test_api.py::test_list[1.5-get]", "a.b", "tests/test_api/test_list-1.5-get.a.b"),
    ("tests/test_api.py::test_list", "2", "tests/test_api/test_list.2"),
    ("test_api.py::test_list", None, "test_api/test_list"),
    ("docs/use.rst::use.rst", None, "docs/use.rst/use.rst"),
    ("tests/test_api.py::test_list[a b]", None, "tests/test_api/test_list-a-b-#"),
    ("tests/test_api.py::test_list[a::b/c[d]]", None, "tests/test_api/test_list-a--b-c-d-#"),
    ("tests/test_api.py::test_list[GET]", None, "tests/test_api/test_list-GET-#"),
    ("tests/test_api.py::test_list[a.json]", None, "tests/test_api/test_list-a.json-#"),
    ("tests/test_api.py::test_list", "output", "tests/test_api/test_list.output-#"),
    ("tests/test_api.py::test_list", "output.b", "tests/test_api/test_list.output-b-#"),
    ("tests/test_api.py::test_list[]", None, "tests/test_api/test_list-#"),
    ("../tests/test_api.py::test_list", None, "tests/test_api/test_list-#"),
]  # fmt: skip


@pytest.mark.parametrize(("test", "name", "wanted"), PLAIN)
def test_file_of_test_and_value_name(test: str, name: str | None, wanted: str) -> None:
    file = file_of(test, name)
    begin, mark, _ = wanted.partition("#")
    assert file.startswith(f"baselines/{begin}")
    assert file.endswith(".yaml")
    rest = file.removeprefix(f"baselines/{begin}").removesuffix(".yaml")
    assert len(rest) == (6 if mark else 0)
    assert set(rest) <= set(string.hexdigits)


def test_id_of_path() -> None:
    assert (
        id_of("baselines/tests/test_api/TestUsers.test_list-a.yaml") == "tests.test_api.TestUsers.test_list-a"
    )
    dotted = id_of("baselines/tests.test_api/test_list.yaml")
    assert dotted.startswith("tests.test_api.test_list-")
    assert dotted != id_of("baselines/tests/test_api/test_list.yaml")


_WORD = st.text("abAB01_", min_size=1, max_size=5)
_ANY = st.text("aA1.-_ /:[]é", max_size=6)
_TESTS = st.tuples(
    st.lists(st.sampled_from(["tests", "unit", "a.b", "c d"]), max_size=2),
    st.lists(_WORD.map("Test{}".format), max_size=2, unique_by=str.lower),
    _WORD.map(str.lower).map("test_{}".format),
    st.none() | _ANY,
    st.none() | _ANY.filter(bool),
)


@given(st.lists(_TESTS, min_size=2, max_size=6, unique=False))
def test_file_of_and_id_of_are_unique(tests) -> None:
    files: dict[str, object] = {}
    ids: dict[str, object] = {}
    for folders, classes, function, params, name in tests:
        rest = "::".join(["/".join([*folders, "test_x.py"]), *(word.title() for word in classes), function])
        test = rest + (f"[{params}]" if params is not None else "")
        file = file_of(test, name)
        assert files.setdefault(file.casefold(), (test, name)) == (test, name)
        assert ids.setdefault(id_of(file).casefold(), (test, name)) == (test, name)
        assert ID.fullmatch(id_of(file)), file


def test_file_of_long_name_is_cut_and_hashed() -> None:
    first, second = (file_of(f"tests/test_api.py::test_list[{'x' * 300}{end}]") for end in "ab")
    assert first != second
    assert len(first.rpartition("/")[2]) <= 125
    assert len(id_of(first)) <= 128
    assert id_of(first) != id_of(second)
