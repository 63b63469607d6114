"""`capture --repeat` and `compare --repeat` from end to end, over real sockets."""

import json
import random
import re
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from counted_model import CountedModel
from little_api import LittleApi
from started import start

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
    "/grow": lambda number: {"log": list(range(number))},
    "/flaky": lambda number: {"ok": number % 3 != 0},
    "/status": lambda number: (200 if number % 2 else 404, {"x": 1}),
    "/failing": lambda number: {"x": 1} if number == 1 else (500, {}),
    "/broken": lambda number: {"ok": True} if number == 1 else broken(number),
    "/slow": lambda number: time.sleep(0.3) or {"ok": number == 1},
}


@pytest.fixture
def api() -> Iterator[LittleApi]:
    with LittleApi(ANSWERS) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselinekit.yaml").write_text("version: 1\n")
        yield terminal


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def capture(here: Console, api: LittleApi, path: str, options: str = "", exit_code: int = 0) -> str:
    return run(here, f"capture http GET {api.url}{path} --id {path[1:]} --group g {options}", exit_code)


def stored(here: Console, id: str) -> str:
    return (here.folder / "baselines" / "g" / f"{id}.yaml").read_text()


def results(here: Console, words: str, exit_code: int) -> list[dict[str, Any]]:
    run(here, f"compare {words} -q -o out.json", exit_code)
    return list(json.loads((here.folder / "out.json").read_text())["results"])


def test_f13_two_replays_must_agree_or_the_volatile_paths_are_listed(here: Console, api: LittleApi) -> None:
    said = capture(here, api, "/user", "--repeat 2")
    assert "2 replays: 2 paths vary" in said
    assert re.search(
        r"body\.id  <<any_uuid\(4\)>>   baselines/g/user\.yaml:\d+\n +UUIDs of version 4: ", said
    )
    assert "body.seen  <<any_iso_datetime>>" in said
    text = stored(here, "user")
    assert "id: <<any_uuid(4)>>" in text
    assert "name: Ada" in text
    assert "1 passed" in run(here, "compare", 0)


def test_what_may_not_be_hidden_is_refused_with_its_line_and_a_rule(here: Console, api: LittleApi) -> None:
    said = capture(here, api, "/shuffled", "--repeat 3", 3)
    assert re.search(r"BK527 baselines/g/shuffled\.yaml:\d+:\d+: body\.rows varies: the same elements", said)
    assert "--array 'body.rows=unordered'" in said
    assert "rows:" in stored(here, "shuffled")  # with what the first one gave, as it was
    (here.folder / "baselines/g/shuffled.yaml").unlink()
    capture(here, api, "/shuffled", "--repeat 3 --array body.rows=unordered")
    run(here, "compare --repeat 3", 0)
    assert "1 to 3 elements" in capture(here, api, "/grow", "--repeat 3", 3)
    said = capture(here, api, "/status", "--repeat 2", 3)
    assert "status varies: it is 200, 404" in said
    assert "now the known-good answer" not in said  # a 200 is stored


def test_a_later_replay_that_goes_wrong_stores_nothing(here: Console, api: LittleApi) -> None:
    assert "BK521 the answer is 500" in capture(here, api, "/failing", "--repeat 2", 3)
    assert "replay 2 of 2: " in capture(here, api, "/broken", "--repeat 2", 3)
    assert not (here.folder / "baselines").exists()


def test_each_repeat_of_a_prompt_is_asked_for(here: Console) -> None:
    with CountedModel() as model:
        config = f'models:\n  default: {{openai: demo, base_url: "{model.url}"}}\n'
        (here.folder / "baselinekit.yaml").write_text(config)
        (here.folder / "sum.md").write_text("Summarise.\n\nThe number is 1.\n")
        run(here, "capture prompt sum.md --cache --repeat 3", 0)
        assert len(model.asked) == 3
        run(here, "compare --cache --repeat 3", 0)
        assert len(model.asked) == 3  # each turn has an answer of its own by now
        run(here, "compare --cache --repeat 4", 0)
        assert len(model.asked) == 4


def failures(here: Console) -> dict[str, int]:
    files = (here.folder / "baselines" / "g").glob("*.yaml")
    return {file.stem: int(re.search(r"failure_count: (\d+)", file.read_text())[1]) for file in files}  # type: ignore[index]


def test_one_verdict_is_recorded_however_often_it_is_replayed(here: Console, api: LittleApi) -> None:
    for path in ("/steady", "/wrong", "/flaky", "/user"):
        capture(here, api, path, "--exact")
    found = {one["id"]: one for one in results(here, "--repeat 5", 1)}
    assert {id: (one["outcome"], one["verdict"]) for id, one in found.items()} == {
        "steady": ("passed", None),
        "wrong": ("failed", "regression"),
        "flaky": ("failed", "flaky"),
        "user": ("failed", "noise"),
    }
    assert failures(here) == {"steady": 0, "wrong": 1, "flaky": 1, "user": 0}
    assert "last_passed: null" in stored(here, "user")
    kept = here.folder / ".baselinekit" / "pending"
    assert [file.stem for file in kept.iterdir()] == ["wrong"]
    assert found["flaky"]["repeats"] == {"replays": 5, "passed": 3, "errors": 0}
    assert found["flaky"]["differences"][0]["note"] == "in 2 of 5 replays"
    assert "resolved" in found["wrong"]
    assert "resolved" not in found["flaky"]
    assert api.counts == {"/steady": 6, "/wrong": 6, "/flaky": 6, "/user": 6}


def test_a_gate_by_pass_rate(here: Console, api: LittleApi) -> None:
    capture(here, api, "/flaky", "--exact")
    said = run(here, "compare --repeat 6 --min-pass-rate 0.6", 0)
    assert "flaky: 4 of 6 replays passed; body.ok differs in 2 of 6 replays" in said
    assert "last_passed: null" not in stored(here, "flaky")
    assert "insufficient data: 4 of 6 replays" in run(here, "compare --repeat 6 --min-pass-rate 0.9", 1)
    assert "--repeat 5" in run(here, "compare --min-pass-rate 0.9", 2)


def test_an_interrupted_run_records_nothing_of_what_it_had_begun(here: Console, api: LittleApi) -> None:
    capture(here, api, "/slow", "--exact")
    process = start(here, "compare", "--repeat", "20")
    until = time.monotonic() + 20
    while api.counts["/slow"] < 3 and time.monotonic() < until:
        threading.Event().wait(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, out + err
    assert b"Traceback" not in out + err
    assert failures(here) == {"slow": 0}
    assert api.counts["/slow"] < 15
    assert not (here.folder / ".baselinekit" / "pending" / "slow.json").exists()
