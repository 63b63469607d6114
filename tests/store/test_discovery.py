"""Which files are found, and how many and how large they may be."""

from pathlib import Path

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.files.libyaml import most_nodes
from baselinekit.model.recipes import Limits
from baselinekit.store.project import USUAL, limits_of, read, set_limits
from baselinekit.store.reading import discover_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("b/a.yaml", "b/c/d.yaml", "b/c/e.json", "b/.hidden/x.yaml", "b/a.output.json", "f.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["b"], ["b/a.yaml", "b/c/d.yaml", "b/c/e.json"]),
        (["b/", "./b/c"], ["b/a.yaml", "b/c/d.yaml", "b/c/e.json"]),
        (["b/c/../c"], ["b/c/d.yaml", "b/c/e.json"]),
        (["."], ["b/a.yaml", "b/c/d.yaml", "b/c/e.json", "f.yaml"]),
        (["f.yaml", "b/c/e.json", "b/c"], ["f.yaml", "b/c/e.json", "b/c/d.yaml"]),
    ],
)
def test_files_are_named_from_the_root(root: Path, paths: list[str], found: list[str]) -> None:
    assert [*discover_files(paths, str(root)).files] == found


def test_a_folder_elsewhere_is_named_by_its_whole_path(root: Path) -> None:
    assert [*discover_files([str(root / "b/c")], str(root / "b/c/other")).files] == [
        str(root / "b/c/d.yaml"),
        str(root / "b/c/e.json"),
    ]


def test_how_many_files_is_a_setting(root: Path) -> None:
    assert limits_of(str(root)) == USUAL
    set_limits(str(root), Limits(files=2))
    with pytest.raises(InvalidInput, match=r"BK106 more than 2 files, .*: limits: \{files: …\}"):
        discover_files(["."], str(root))
    set_limits(str(root), Limits(files=4))
    assert len(discover_files(["."], str(root)).files) == 4
    assert limits_of(str(root)).file_size == USUAL.file_size


def test_how_large_a_file_is_is_a_setting(root: Path) -> None:
    set_limits(str(root), Limits(file_size=7))
    with pytest.raises(InvalidInput, match=r"BK106 b/a\.yaml: larger than 7 bytes"):
        read(str(root), "b/a.yaml")
    set_limits(str(root), Limits(file_size=8))
    assert read(str(root), "b/a.yaml") == b"b/a.yaml"


@pytest.mark.parametrize(("size", "most"), [(10, 200_000), (2_000_000, 200_000), (20_000_000, 2_000_000)])
def test_a_large_file_may_have_more_values(size: int, most: int) -> None:
    assert most_nodes(size) == most
