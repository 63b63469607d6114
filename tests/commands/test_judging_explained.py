"""What -v shows of a failure: the request as a curl line and its answer, without credentials, and cut."""

import json
from pathlib import Path

from console import console
from little_api import LittleApi


def test_compare_verbose_shows_request_and_answer_masked_and_cut(tmp_path: Path) -> None:
    with LittleApi({"/x": {"text": "y" * 5_000}}) as api, console(tmp_path / "project") as here:
        (here.folder / "baselinekit.yaml").write_text(f"base_url: {api.url}\n")
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/x.yaml").write_text(
            "id: x\nbaseline: {output: {body: {text: x}}}\n"
            "current: {input: {endpoint: /x, headers: {X-Api-Key: abcd, X-A: b}}, execution: {type: http}}\n"
        )
        assert here.run("baselinekit compare -v -o found.json").exit_code == 1
        found = json.loads((here.folder / "found.json").read_text())
        address = f"{api.url}/x"
    request, status, *lines = found["results"][0]["explanation"]
    assert request == f"curl {address} -H 'Accept: */*' -H 'X-Api-Key: ***' -H 'X-A: b'"
    assert status == "200"
    (text,) = (line for line in lines if "text" in line and "yyy" in line)
    whole = len('  "text": ""') + 5_000
    assert text[300:] == f" … and {whole - 300:,} more characters"
