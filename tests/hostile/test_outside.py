"""A data file learns nothing of what is outside the project, not even whether it is there (F41, F42)."""

from pathlib import Path

import pytest

from baselinekit.errors import Refused
from baselinekit.kinds.files import inside, read_bytes
from baselinekit.model.recipes import Surroundings
from baselinekit.store.project import read
from baselinekit.store.records import load
from baselinekit.suites.settings import resolve_named


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "baselines").mkdir(parents=True)
    (tmp_path / "there.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    for name in ("there", "absent"):
        (root / "baselines" / f"link-{name}.json").symlink_to(tmp_path / f"{name}.json")
    (root / "baselines/link-folder").symlink_to(tmp_path / "folder")
    (root / "baselines/link-absent").symlink_to(tmp_path / "absent")
    return root


PAIRS = [
    ("../../there.json", "../../absent.json"),
    ("{outside}/there.json", "{outside}/absent.json"),
    ("link-there.json", "link-absent.json"),
    ("link-folder/x.json", "link-absent/x.json"),
    ("../baselines/../../there.json", "../baselines/../../absent.json"),
]


def refusal(ask: object, name: str) -> str:
    assert callable(ask)
    with pytest.raises(Refused) as raised:
        ask(name)
    return str(raised.value.problems[0]).replace(name, "NAME").replace(name.rpartition("/")[2], "LAST")


@pytest.mark.parametrize(("there", "absent"), PAIRS)
def test_f41_f42_paths_outside_are_refused_alike_if_they_exist_or_not(
    root: Path, there: str, absent: str
) -> None:
    around = Surroundings(str(root), str(root / "baselines"))
    asks = [
        lambda name: load(str(root), "baselines/a.yaml", name),
        lambda name: read(str(root), f"baselines/{name}"),
        lambda name: inside(around, name),
        lambda name: read_bytes(around, name),
        lambda name: resolve_named(str(root), "baselines/a.yaml", name),
    ]
    outside = str(root.parent)
    names = [name.replace("{outside}", outside) for name in (there, absent)]
    for ask in asks:
        if "{outside}" in there and ask is asks[1]:
            continue  # only the operator names an absolute path there
        first, second = (
            refusal(ask, name).replace("link-there", "L").replace("link-absent", "L") for name in names
        )
        words = ("there", "absent", "folder")
        for word in words:
            first, second = first.replace(word, "W"), second.replace(word, "W")
        assert first == second
        assert "leads out of the project" in first
