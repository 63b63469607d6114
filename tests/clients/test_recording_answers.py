"""Answers that are kept: cassettes, the cache and a resumed run are one thing, and no secret is in it."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from model_server import ASCII_KEY, ModelServer, Said, chat, failure, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.recording import Mode, Recording, key_of, parts_of, record_in
from baselinekit.errors import CannotReplay, NotRecorded
from baselinekit.model.recipes import (
    Answer,
    Limits,
    Message,
    Model,
    ModelQuestion,
    Prices,
    Request,
    Response,
    Tool,
    Usage,
)
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import Json
from baselinekit.store.journal import Cassettes

ENTRY = Model(openai="x", base_url="http://127.0.0.1:9", prices=Prices(1, 1))
GOOD = Response(
    200,
    (),
    json.dumps(
        chat("fine", tool_calls=[{"function": {"name": "f", "arguments": '{"n": 1.000000000000000000001}'}}])
    ).encode(),
    0.25,
)


class Counted:
    """A door that counts."""

    def __init__(self, response: Response = GOOD):
        self.count = 0
        self.response = response

    def __call__(self, request: Request) -> Response:
        self.count += 1
        return self.response


def kept(root: Path, mode: Mode, send: Counted, entry: Model = ENTRY, folder: str = "calls") -> Recording:
    return Recording(models(entry, world(send)), Cassettes(str(root), folder), mode)


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.json") if path.parent.name != "tmp")


def test_what_was_recorded_is_answered_offline(tmp_path: Path) -> None:
    send = Counted()
    first = kept(tmp_path, "record", send).ask(question())
    offline = Recording(
        Models({"m": Model(openai="x", base_url=ENTRY.base_url, key="unset")}, Limits(), world()),
        Cassettes(str(tmp_path), "calls"),
        "offline",
    )
    offline.check("m")
    again = offline.ask(question())
    assert send.count == 1
    assert (again.text, again.tool_calls, again.usage) == (first.text, first.tool_calls, first.usage)
    assert again.tool_calls == (ToolCall("f", {"n": Decimal("1.000000000000000000001")}),)
    assert again.usage == Usage(12, 3, Decimal("0.000015"))
    assert (again.served, again.seconds) == ("served-1", 0.25)
    assert (first.recorded, again.recorded) == (False, True)
    assert offline.spent.calls == 0


def test_a_cassette_is_one_file_that_a_person_can_read(tmp_path: Path) -> None:
    kept(tmp_path, "record", Counted()).ask(question("Ünï\ncode", turn=2))
    (file,) = files(tmp_path)
    assert file.parent == tmp_path / "calls" / "m"
    assert len(file.stem) == 64
    record = json.loads(file.read_text("utf-8"))
    assert record["format"] == "baselinekit.call/1"
    assert record["asked"] == {
        "model": "m",
        "openai": "x",
        "base_url": "http://127.0.0.1:9",
        "turn": 2,
        "messages": [{"role": "user", "content": "Ünï\ncode"}],
    }
    assert record["answer"]["text"] == "fine"
    assert "Ünï" in file.read_text("utf-8")


def test_the_cache_asks_once_and_recording_always(tmp_path: Path) -> None:
    send = Counted()
    for _ in range(3):
        kept(tmp_path, "cache", send).ask(question())
    assert send.count == 1
    for _ in range(3):
        kept(tmp_path, "record", send).ask(question())
    assert send.count == 4
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("mode", ["record", "cache"])
def test_errors_are_never_kept(tmp_path: Path, mode: Mode) -> None:
    for response in (
        Response(400, (), b"{}"),
        Response(200, (), json.dumps(chat("half", "length")).encode()),
        Response(200, (), b"{"),
    ):
        failure(kept(tmp_path, mode, Counted(response)))
    assert files(tmp_path) == []


MISSES: list[tuple[ModelQuestion, Model, str]] = [
    (question("How are they?"), ENTRY, "message 1 of 1"),
    (question("How are you?\nWell?"), ENTRY, "message 1 of 1"),
    (question(temperature=0.7), ENTRY, "`temperature`"),
    (question(max_tokens=5), ENTRY, "`max_tokens`"),
    (question(json=True), ENTRY, "`json`"),
    (question(turn=1), ENTRY, "`turn`"),
    (question(tools=(Tool("f"),)), ENTRY, "`tools`"),
    (question(), Model(openai="y", base_url=ENTRY.base_url), "`openai`"),
    (question(), Model(openai="x", base_url="http://127.0.0.1:8"), "`base_url`"),
    (question(), Model(openai="x", base_url=ENTRY.base_url, settings={"seed": 1}), "`settings`"),
    (question(), Model(openai="x", base_url=ENTRY.base_url, system="Hm."), "message 1 of 2"),
    (question(), Model(anthropic="x", base_url=ENTRY.base_url), "`anthropic`"),
]


@pytest.mark.parametrize(("ask", "entry", "word"), MISSES)
def test_a_miss_says_in_what_the_nearest_one_differs(
    tmp_path: Path, ask: ModelQuestion, entry: Model, word: str
) -> None:
    far = question("Something else altogether", temperature=1, max_tokens=9, json=True, turn=7)
    kept(tmp_path, "record", Counted()).ask(far)
    kept(tmp_path, "record", Counted()).ask(question())
    error = failure(kept(tmp_path, "offline", Counted(), entry), ask)
    assert error.problems[0].code == "BK630"
    assert f"the nearest one differs in {word}" in str(error)
    assert "--record-calls calls" in str(error)


def test_another_model_is_the_nearest_when_only_the_name_changed(tmp_path: Path) -> None:
    kept(tmp_path, "record", Counted()).ask(question())
    source = Models({"n": ENTRY}, Limits(), world())
    offline = Recording(source, Cassettes(str(tmp_path), "calls"), "offline")
    error = failure(offline, ModelQuestion("n", (Message("user", "How are you?"),)))
    assert "differs in `model`" in str(error)


def test_a_miss_in_an_empty_folder_says_how_to_record(tmp_path: Path) -> None:
    error = failure(kept(tmp_path, "offline", Counted()))
    assert "no answer is recorded in calls" in str(error)
    assert "--record-calls calls" in str(error)


DAMAGED = [
    b"",
    b"{",
    b"[]",
    b'{"format": "other/1"}',
    b'{"format": "baselinekit.call/1", "asked": {}, "answer": {}}',
]
DAMAGED += [
    json.dumps({"format": "baselinekit.call/1", "asked": {}, "answer": answer}).encode()
    for answer in (
        {"text": 5},
        {"text": "a", "tool_calls": [1]},
        {"text": "a", "tool_calls": [{"name": 1, "input": 2}]},
        {"text": "a", "usage": []},
        {"text": "a", "usage": {"cost_usd": "NaN"}},
        {"text": "a", "seconds": "x"},
        {"text": "a", "served": 5},
    )
]


@pytest.mark.parametrize("raw", DAMAGED)
def test_what_is_damaged_is_a_miss_for_the_cache_and_an_error_offline(tmp_path: Path, raw: bytes) -> None:
    send = Counted()
    kept(tmp_path, "record", send).ask(question())
    (file,) = files(tmp_path)
    file.write_bytes(raw)
    assert failure(kept(tmp_path, "offline", Counted())).problems[0].code == "BK631"
    failure(kept(tmp_path, "offline", Counted()), question("another"))
    assert kept(tmp_path, "cache", send).ask(question()).text == "fine"
    assert send.count == 2
    assert kept(tmp_path, "offline", Counted()).ask(question()).text == "fine", "it was written again"


def test_state_is_hidden_from_git_and_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    kept(root, "cache", Counted(), folder=".baselinekit/calls").ask(question())
    assert (root / ".baselinekit" / ".gitignore").read_text() == "*\n"
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "calls").mkdir()
    (root / "calls" / "m").symlink_to(outside)
    with pytest.raises(Exception, match="BK404"):
        kept(root, "record", Counted()).ask(question())
    assert list(outside.iterdir()) == []


def test_the_operator_may_name_a_folder_anywhere(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    elsewhere = str(tmp_path / "elsewhere" / "cassettes")
    kept(root, "record", Counted(), folder=elsewhere).ask(question())
    assert len(files(tmp_path / "elsewhere")) == 1
    assert [name for _, _, names in os.walk(elsewhere) for name in names if name.endswith(".tmp")] == []
    assert kept(root, "offline", Counted(), folder=elsewhere).ask(question()).recorded


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a\\b", "qwen3:8b", "ü" * 200, "", "CON"])
def test_any_name_of_a_model_is_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    shelf = Cassettes(str(tmp_path), "calls")
    shelf.keep(name, "f" * 64, {"a": 1})
    assert shelf.find(name, "f" * 64) == {"a": 1}
    (file,) = files(tmp_path)
    assert file.parent.parent == tmp_path / "calls"


def test_a_folder_that_cannot_be_written_fails_a_recording_and_no_cache(tmp_path: Path) -> None:
    (tmp_path / "calls").write_text("a file")
    with pytest.raises(NotRecorded, match="BK120"):
        kept(tmp_path, "record", Counted()).ask(question())
    assert kept(tmp_path, "cache", Counted()).ask(question()).text == "fine"


SECRET = "correct-horse/battery+staple=="


def test_f49_no_secret_stands_in_any_cassette(tmp_path: Path) -> None:
    """Not the key, not a secret in a question, and none that the model repeats, in whatever spelling."""
    import base64
    from urllib.parse import quote

    echoes = f"{SECRET} {quote(SECRET, safe='')} {base64.b64encode(SECRET.encode()).decode()} {ASCII_KEY}"
    arguments = json.dumps({"token": SECRET, SECRET: [SECRET]})
    said = Said(chat(echoes, tool_calls=[{"function": {"name": SECRET, "arguments": arguments}}]))
    client = Client(proxies={})
    with ModelServer(said) as server:
        entry = Model(
            openai="x",
            base_url=server.url,
            key="k",
            headers={"X-Api-Key": SECRET},
            settings={"user": SECRET},
            system=f"The password is {SECRET}",
        )
        around = world(client.send, secrets={"k": ASCII_KEY, "s": SECRET})
        answer = Recording(models(entry, around), Cassettes(str(tmp_path), "calls"), "record").ask(
            question(f"Repeat {SECRET}", tools=(Tool(SECRET, SECRET, {"x": SECRET}),))
        )
        assert SECRET in answer.text, "the answer itself is whole"
    client.close()
    (file,) = files(tmp_path)
    raw = file.read_text("utf-8")
    for secret in (SECRET, ASCII_KEY):
        for form in (secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode()):
            assert form not in raw
    assert "***" in raw
    error = failure(
        Recording(models(entry, around), Cassettes(str(tmp_path), "calls"), "offline"),
        question(f"No {SECRET}"),
    )
    assert SECRET not in str(error)


def test_another_secret_in_the_same_place_is_the_same_question(tmp_path: Path) -> None:
    def asked(secret: str, mode: Mode, send: Counted) -> Answer:
        around = world(send, secrets={"k": secret})
        entry = Model(openai="x", base_url="http://127.0.0.1:9", key="k")
        source = models(entry, around)
        return Recording(source, Cassettes(str(tmp_path), "calls"), mode).ask(question(f"Say {secret}"))

    send = Counted()
    asked("first-secret-0001", "record", send)
    assert asked("second-secret-0002", "offline", send).text == "fine"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def turned(value: Json) -> Json:
    """The same value with the keys of its mappings the other way round."""
    if isinstance(value, Mapping):
        return {key: turned(value[key]) for key in reversed(list(value))}
    return [turned(item) for item in value] if isinstance(value, list) else value


def plain(text: str) -> str:
    return text


@pytest.mark.slow
@given(st.dictionaries(st.text(), json_values, max_size=4), st.text(), st.floats(0, 2))
@settings(max_examples=150, deadline=None)
def test_the_key_does_not_depend_on_the_order_of_keys(
    given_settings: dict[str, Any], text: str, temperature: float
) -> None:
    ask = question(text, temperature=temperature, tools=(Tool("f", "", {"b": 1, "a": {"d": 1, "c": 2}}),))
    other = question(text, temperature=temperature, tools=(Tool("f", "", {"a": {"c": 2, "d": 1}, "b": 1}),))
    entry, turned_entry = (Model(openai="x", settings=s) for s in (given_settings, turned(given_settings)))
    key = key_of(parts_of(ask, entry, "openai", plain))
    assert key == key_of(parts_of(other, turned_entry, "openai", plain))
    assert key != key_of(parts_of(question(text + "."), entry, "openai", plain))
    assert len(key) == 64


@pytest.mark.slow
@given(st.text(alphabet="abcdefgh0123456789-/+=ü ", min_size=8, max_size=40), st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_no_part_of_a_key_has_a_secret_in_it(secret: str, around: str) -> None:
    mask = world(secrets={"s": secret}).mask
    ask = question(f"{around}{secret}{around}", tools=(Tool("f", secret, {"x": [secret]}),))
    entry = Model(openai="x", base_url=f"http://h/{secret}", settings={"user": secret}, key="s")
    text = json.dumps(parts_of(ask, entry, "openai", mask), ensure_ascii=False)
    assert secret not in text.replace(around, "") or secret in "***"


def test_whole_numbers_are_the_same_question_however_they_are_written() -> None:
    one, other = (key_of(parts_of(question(temperature=t), ENTRY, "openai", plain)) for t in (0, 0.0))
    assert one == other


def test_what_a_key_stands_for_does_not_change_from_version_to_version() -> None:
    """Cassettes are committed: whoever changes this number makes all of them worthless."""
    ask = ModelQuestion("m", (Message("system", "Be brief."), Message("user", "Hi")), temperature=0, turn=1)
    key = key_of(parts_of(ask, ENTRY, "openai", plain))
    assert key == "aa3fc0fab6662182501e96f7995b615e086a12a35e5b16506ecd2856747c1b39"


@pytest.mark.slow
@given(
    st.text(),
    st.lists(st.tuples(st.text(), json_values), max_size=2),
    st.none() | st.integers(0, 10**9),
    st.none() | st.decimals(0, 10**6, allow_nan=False, allow_infinity=False),
)
@settings(max_examples=100, deadline=None)
def test_an_answer_comes_back_as_it_was(
    text: str, calls: list[tuple[str, Json]], tokens: int | None, cost: Decimal | None
) -> None:
    answer = Answer(
        text, tuple(ToolCall(*call) for call in calls), Usage(tokens, tokens, cost), "s", 0.5, recorded=True
    )
    shelf = Remembering()
    Recording(Answering(answer), shelf, "record").ask(question())
    (record,) = shelf.every()
    assert record_in(record).answer == answer


class Remembering:
    """A shelf of records as they come back from a file."""

    name = "here"

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Json] = {}

    def find(self, model: str, key: str) -> Json:
        return self._kept.get((model, key))

    def keep(self, model: str, key: str, record: Json) -> None:
        from baselinekit.files import jsontext

        self._kept[model, key] = jsontext.decode(jsontext.dump_json(record))

    def every(self) -> list[Json]:
        return list(self._kept.values())

    def names(self, model: str, key: str) -> list[str]:
        return [name for known, name in self._kept if known == model and name.partition(".")[0] == key]

    def drop(self, model: str, name: str) -> None:
        self._kept.pop((model, name), None)


class Answering:
    """A source with one answer."""

    def __init__(self, answer: Answer):
        self._answer = answer
        self._models = models(ENTRY, world())
        self.spent = self._models.spent
        self.check, self.parts, self.mask = self._models.check, self._models.parts, self._models.mask

    def ask(self, ask: ModelQuestion) -> Answer:
        return self._answer


@pytest.mark.slow
def test_a_run_that_was_stopped_makes_no_finished_call_twice(tmp_path: Path) -> None:
    """Killed in the midst of it, and started again: what was answered before is asked no more."""
    with ModelServer(
        usual=lambda seen: Said(chat(seen.body["messages"][0]["content"]), pause=0.01)
    ) as server:
        code = textwrap.dedent(f"""
            import sys
            from concurrent.futures import ThreadPoolExecutor
            from model_server import models, question, world
            from baselinekit.model.recipes import Model
            from baselinekit.clients.models.recording import Recording
            from baselinekit.clients.http import Client
            from baselinekit.store.journal import Cassettes
            client = Client(proxies={{}})
            source = models(Model(openai="x", base_url={server.url!r}, concurrency=4), world(client.send))
            asked = Recording(source, Cassettes({str(tmp_path)!r}, ".baselinekit/runs/1"), "cache")
            with ThreadPoolExecutor(4) as pool:
                for answer in pool.map(asked.ask, [question(f"number {{n}}") for n in range(120)]):
                    print(answer.text, flush=True)
        """)
        places = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)])
        environment = {**os.environ, "PYTHONPATH": places}
        finished: list[str] = []
        with subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        ) as first:
            assert first.stdout is not None
            for line in first.stdout:
                finished.append(line.strip())
                if len(finished) == 30:
                    first.kill()
                    break
        before = len(server.seen)
        second = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=30
        )
        assert second.returncode == 0, second.stderr
        assert second.stdout.splitlines() == [f"number {n}" for n in range(120)]
        asked_again = {seen.body["messages"][0]["content"] for seen in server.seen[before:]}
        assert not asked_again & set(finished)
        assert len(server.seen) <= 120 + 4, "at most those that were under way are asked twice"
    left = [path.name for path in tmp_path.rglob("*") if path.is_file() and path.parent.name == "m"]
    assert len(left) == 120


def test_many_threads_keep_and_find_at_once(tmp_path: Path) -> None:
    send = Counted()
    asked = kept(tmp_path, "cache", send, folder=".baselinekit/calls")
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            asked.ask(question(f"number {number % 10}"))
        except CannotReplay as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert len(files(tmp_path)) == 10


def test_a_recording_can_stand_before_a_cache(tmp_path: Path) -> None:
    send = Counted()
    cache = kept(tmp_path, "cache", send, folder=".baselinekit/calls")
    both = Recording(cache, Cassettes(str(tmp_path), "cassettes"), "record")
    both.check("m")
    both.ask(question())
    both.ask(question())
    assert send.count == 1
    assert kept(tmp_path, "offline", Counted(), folder="cassettes").ask(question()).text == "fine"
