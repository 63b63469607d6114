"""`type: semantic` says how texts are compared, or the file is wrong: where, and what there is to choose."""

from pathlib import Path

import pytest
from console import console

RECIPE = "baseline: {output: Fine.}\ncurrent: {input: x, execution: {type: skill, skill_name: s}}\n"
CONFIG = "skills: {s: {command: [printf, Fine.]}}\n"


@pytest.mark.parametrize(
    "rules",
    [
        "{type: semantic}",
        "{type: semantic, min_similarity: 0.9}",
        "{fields: {a: {type: semantic}}}",
        "{type: exact, fields: {a: {type: semantic}}}",
    ],
)
def test_a_method_has_to_be_stated(tmp_path: Path, rules: str) -> None:
    where = f"4:{len('comparison: ') + rules.index('semantic') + 1}"
    with console(tmp_path / "project") as here:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselinekit.yaml").write_text(CONFIG)
        file = here.folder / "baselines" / "a.yaml"
        file.write_text(f"id: a\n{RECIPE}comparison: {rules}\n")
        ran = here.run("baselinekit compare")
        said = ran.stdout + ran.stderr
        assert (ran.exit_code, f"BK206 baselines/a.yaml:{where}:" in said) == (2, True), said
        for word in ("method: judge", "method: words", "method: embedding", "nothing about facts"):
            assert word in said
        file.write_text(f"id: a\n{RECIPE.partition(chr(10))[2]}comparison: {rules}\n")
        ran = here.run("baselinekit capture baselines")
        assert "BK206" in ran.stdout + ran.stderr, "before anything is asked"


@pytest.mark.parametrize(
    "rules",
    ["{type: semantic, method: lexical}", "{fields: {$: {type: semantic, method: lexical}}}"],
)
def test_an_old_name_is_read(tmp_path: Path, rules: str) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselinekit.yaml").write_text(CONFIG)
        (here.folder / "baselines" / "a.yaml").write_text(f"id: a\n{RECIPE}comparison: {rules}\n")
        compared = here.run("baselinekit compare -v")
        assert compared.exit_code == 0, compared.stdout
