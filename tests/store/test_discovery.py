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


def test_discover_files_refuses_more_files_than_the_limit(root: Path) -> None:
    assert limits_of(str(root)) == USUAL
    set_limits(str(root), Limits(files=2))
    with pytest.raises(InvalidInput, match=r"BK106 more than 2 files, .*: limits: \{files: …\}"):
        discover_files(["."], str(root))
    set_limits(str(root), Limits(files=4))
    assert len(discover_files(["."], str(root)).files) == 4
    assert limits_of(str(root)).file_size == USUAL.file_size


def test_read_refuses_a_file_larger_than_the_limit(root: Path) -> None:
    set_limits(str(root), Limits(file_size=7))
    with pytest.raises(InvalidInput, match=r"BK106 b/a\.yaml: larger than 7 bytes"):
        read(str(root), "b/a.yaml")
    set_limits(str(root), Limits(file_size=8))
    assert read(str(root), "b/a.yaml") == b"b/a.yaml"


@pytest.mark.parametrize(("size", "most"), [(10, 200_000), (2_000_000, 200_000), (20_000_000, 2_000_000)])
def test_most_nodes_grows_with_the_file(size: int, most: int) -> None:
    assert most_nodes(size) == most
