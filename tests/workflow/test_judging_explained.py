"""What -v says of a difference is cut where it is shown, and says how much it leaves out."""

import json
from pathlib import Path

from console import console
from little_api import LittleApi


def test_a_line_of_an_explanation_is_cut_and_counted(tmp_path: Path) -> None:
    before, after = "x" * 5_000, "y" * 5_000
    with LittleApi({"/x": {"text": after}}) as api, console(tmp_path / "project") as here:
        (here.folder / "baselinekit.yaml").write_text(f"base_url: {api.url}\n")
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/x.yaml").write_text(
            f"id: x\nbaseline: {{output: {{body: {{text: {before}}}}}}}\n"
            "current: {input: {endpoint: /x}, execution: {type: http}}\n"
        )
        assert here.run("baselinekit compare -v -o found.json").exit_code == 1
        found = json.loads((here.folder / "found.json").read_text())
    (line,) = found["results"][0]["explanation"]
    whole = len(f'body.text: changed from "{before}" to "{after}"')
    assert line[:30] == 'body.text: changed from "xxxxx'
    assert line[300:] == f" … and {whole - 300:,} more characters"
