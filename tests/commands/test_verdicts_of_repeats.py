"""`capture --repeat` and `compare --repeat` from end to end, over real sockets."""

import json
import random
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from commandline import run
from console import Console
from little_api import CountedModel, LittleApi

pytestmark = pytest.mark.slow


def now(number: int) -> str:
    return f"2026-11-21T10:00:{number % 60:02}Z"


def user(number: int) -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "name": "Ada", "seen": now(number)}


def shuffled(number: int) -> dict[str, Any]:
    rows = [{"n": n} for n in range(6)]
    random.Random(number).shuffle(rows)
    return {"rows": rows}


def broken(number: int) -> Any:
    raise ConnectionError


ANSWERS: dict[str, Callable[[int], Any]] = {
    "/steady": lambda number: {"ok": True},
    "/wrong": lambda number: {"ok": number == 1},
    "/user": user,
    "/shuffled": shuffled,
    "/flaky": lambda number: {"ok": number % 3 != 0},
    "/failing": lambda number: {"x": 1} if number == 1 else (500, {}),
    "/broken": lambda number: {"ok": True} if number == 1 else broken(number),
}


@pytest.fixture
def api() -> Iterator[LittleApi]:
    with LittleApi(dict(ANSWERS)) as running:
        yield running


def capture(project: Console, api: LittleApi, path: str, options: str = "", exit_code: int = 0) -> str:
    return run(project, f"capture http GET {api.url}{path} --id {path[1:]} --group g {options}", exit_code)


def stored(project: Console, id: str) -> str:
    return (project.folder / "baselines" / "g" / f"{id}.yaml").read_text()


def results(project: Console, words: str, exit_code: int) -> list[dict[str, Any]]:
    run(project, f"compare {words} -q -o out.json", exit_code)
    return list(json.loads((project.folder / "out.json").read_text())["results"])


def test_f13_capture_repeat_lists_what_varies(project: Console, api: LittleApi) -> None:
    printed = capture(project, api, "/user", "--repeat 2")
    assert "2 replays: 2 varying paths" in printed
    assert re.search(r"body\.id  <<any_uuid\(4\)>>   baselines/g/user\.yaml:\d+\n +UUIDs: ", printed)
    assert "body.seen  <<any_iso_datetime>>" in printed
    text = stored(project, "user")
    assert "id: <<any_uuid(4)>>" in text
    assert "name: Ada" in text
    assert "1 passed" in run(project, "compare", 0)


def test_capture_repeat_refuses_structure_that_varies(project: Console, api: LittleApi) -> None:
    printed = capture(project, api, "/shuffled", "--repeat 3", 3)
    assert re.search(
        r"BK527 baselines/g/shuffled\.yaml:\d+:\d+: body\.rows varies: the same elements", printed
    )
    assert "--array 'body.rows=unordered'" in printed
    assert "rows:" in stored(project, "shuffled")  # with what the first one gave, as it was
    (project.folder / "baselines/g/shuffled.yaml").unlink()
    capture(project, api, "/shuffled", "--repeat 3 --array body.rows=unordered")
    run(project, "compare --repeat 3", 0)


def test_capture_repeat_with_a_failed_replay_stores_nothing(project: Console, api: LittleApi) -> None:
    assert "BK521 the answer is 500" in capture(project, api, "/failing", "--repeat 2", 3)
    assert "replay 2 of 2: " in capture(project, api, "/broken", "--repeat 2", 3)
    assert not list((project.folder / "baselines").iterdir())


def test_each_repeat_of_a_prompt_is_asked_for(project: Console) -> None:
    with CountedModel() as model:
        config = f'models:\n  default: {{openai: demo, base_url: "{model.url}"}}\n'
        (project.folder / "baselinekit.yaml").write_text(config)
        (project.folder / "sum.md").write_text("Summarise.\n\nThe number is 1.\n")
        run(project, "capture prompt sum.md --cache --repeat 3", 0)
        assert len(model.questions) == 3
        run(project, "compare --cache --repeat 3", 0)
        assert len(model.questions) == 3  # each turn has an answer of its own by now
        run(project, "compare --cache --repeat 4", 0)
        assert len(model.questions) == 4


def failures(project: Console) -> dict[str, int]:
    files = (project.folder / "baselines" / "g").glob("*.yaml")
    return {file.stem: int(re.search(r"failure_count: (\d+)", file.read_text())[1]) for file in files}  # type: ignore[index]


def test_compare_repeat_records_one_verdict(project: Console, api: LittleApi) -> None:
    for path in ("/steady", "/wrong", "/flaky", "/user"):
        capture(project, api, path, "--exact")
    found = {item["id"]: item for item in results(project, "--repeat 5", 1)}
    assert {id: (item["outcome"], item["verdict"]) for id, item in found.items()} == {
        "steady": ("passed", None),
        "wrong": ("failed", "regression"),
        "flaky": ("failed", "flaky"),
        "user": ("failed", "noise"),
    }
    assert failures(project) == {"steady": 0, "wrong": 1, "flaky": 1, "user": 0}
    assert "last_passed: null" in stored(project, "user")
    kept = project.folder / ".baselinekit" / "pending"
    assert [file.stem for file in kept.iterdir()] == ["wrong"]
    assert found["flaky"]["repeats"] == {"replays": 5, "passed": 3, "errors": 0}
    assert found["flaky"]["differences"][0]["note"] == "in 2 of 5 replays"
    assert "resolved" in found["wrong"]
    assert "resolved" not in found["flaky"]
    assert api.counts == {"/steady": 6, "/wrong": 6, "/flaky": 6, "/user": 6}
