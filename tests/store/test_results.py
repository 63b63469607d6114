"""What a run keeps for the next one, and reports where the operator wants them."""

from decimal import Decimal
from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput
from baselinekit.model.changes import KeptOutput
from baselinekit.model.values import Json
from baselinekit.store.results import (
    drop_pending,
    load_not_passed,
    load_pending,
    pending_ids,
    save_pending,
    write_text,
)
from baselinekit.structs import replace


def kept_output(id: str, output: Json) -> KeptOutput:
    return KeptOutput(id, "hash", output, "2026-11-21", {"git": {"dirty": True}}, {"seconds": 0.5}, "with")


def test_pending_is_kept_until_it_is_dropped(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert load_pending(root, "a") is None
    assert pending_ids(root) == frozenset()
    kept = kept_output("a", [Decimal("1e400"), "\ud800", {"n": 1.0}])
    kept = replace(kept, masked=(("a", 0), ()), unsettled=("x",), settled=("y", "z"), variant=2, flaw="cut")
    save_pending(root, kept_output("a", {"old": 1}))
    save_pending(root, kept)
    assert load_pending(root, "a") == kept
    assert pending_ids(root) == {"a"}
    drop_pending(root, "a")
    drop_pending(root, "a")
    assert load_pending(root, "a") is None


def test_save_pending_refuses_an_id_that_is_a_path(tmp_path: Path) -> None:
    for id in ("../a", "a/b", ""):
        with pytest.raises(InvalidInput, match=r"BK108"):
            save_pending(str(tmp_path), kept_output(id, {}))


def test_load_pending_of_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    save_pending(str(tmp_path), kept_output("b", {}))
    other = (tmp_path / ".baselinekit/pending/b.json").read_text()
    for text in ("[1]", "{}", other, other.replace('"b"', '"a"').replace('"hash"', "1")):
        write(tmp_path, ".baselinekit/pending/a.json", text)
        with pytest.raises(InvalidInput, match=r"BK111"):
            load_pending(str(tmp_path), "a")
    write(tmp_path, ".baselinekit/pending/a.json", "{")
    with pytest.raises(InvalidInput, match=r"BK101"):
        load_pending(str(tmp_path), "a")


def test_write_text_makes_folders_and_follows_links(tmp_path: Path) -> None:
    path = tmp_path / "a/b/report.md"
    write_text(str(path), "é \ud800\n")
    assert path.read_bytes() == "é \\ud800\n".encode()
    write_text(str(path), "new")
    assert path.read_text() == "new"
    assert [each.name for each in path.parent.iterdir()] == ["report.md"]
    (tmp_path / "link").symlink_to(path)
    write_text(str(tmp_path / "link"), "through")
    assert path.read_text() == "through"


@pytest.mark.parametrize(
    ("kept", "ids"),
    [('["a", "b"]', {"a", "b"}), ('["a", ["b"], {}, 1]', {"a"}), ("[" * 100_000, set()), ('"\\ud800', set())],
)
def test_load_not_passed_ignores_damage(tmp_path: Path, kept: str, ids: set[str]) -> None:
    assert load_not_passed(str(tmp_path)) == frozenset()
    write(tmp_path, ".baselinekit/last-run.json", kept)
    assert load_not_passed(str(tmp_path)) == ids
