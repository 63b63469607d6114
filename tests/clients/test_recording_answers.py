"""Answers that are kept: cassettes, the cache and a resumed run are one thing, and no secret is in it."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from model_server import ASCII_KEY, Wire, chat, failure, models, question, world

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.models.recording import Mode, Recording, key_of, parts_of
from baselinekit.errors import NotRecorded
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
from baselinekit.structs import replace

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
    """A client that counts its requests."""

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


def test_recording_offline_gives_recorded_answer(tmp_path: Path) -> None:
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


def test_recording_writes_one_readable_file(tmp_path: Path) -> None:
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


def test_recording_cache_asks_once_and_record_always(tmp_path: Path) -> None:
    send = Counted()
    for asker in ("", "a", "b"):
        kept(tmp_path, "cache", send).ask(question(asker=asker))
    assert send.count == 1
    for _ in range(3):
        kept(tmp_path, "record", send).ask(question())
    assert send.count == 4
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("mode", ["record", "cache"])
def test_recording_keeps_no_errors(tmp_path: Path, mode: Mode) -> None:
    for response in (
        Response(400, (), b"{}"),
        Response(200, (), json.dumps(chat("half", "length")).encode()),
        Response(200, (), b"{"),
    ):
        failure(kept(tmp_path, mode, Counted(response)))
    assert files(tmp_path) == []


BASE = "http://127.0.0.1:9"
MISSES: list[tuple[ModelQuestion, Model]] = [
    (question("How are they?"), ENTRY),
    (question(temperature=0.7), ENTRY),
    (question(max_tokens=5), ENTRY),
    (question(json=True), ENTRY),
    (question(turn=1), ENTRY),
    (question(tools=(Tool("f"),)), ENTRY),
    (question(), Model(openai="y", base_url=BASE)),
    (question(), Model(openai="x", base_url="http://127.0.0.1:8")),
    (question(), Model(openai="x", base_url=BASE, settings={"seed": 1})),
    (question(), Model(openai="x", base_url=BASE, system="Hm.")),
    (question(), Model(anthropic="x", base_url=BASE)),
]


@pytest.mark.parametrize(("ask", "entry"), MISSES)
def test_recording_of_another_question_is_a_miss(tmp_path: Path, ask: ModelQuestion, entry: Model) -> None:
    kept(tmp_path, "record", Counted()).ask(question())
    error = failure(kept(tmp_path, "offline", Counted(), entry), ask)
    assert error.problems[0].code == "BK630"
    assert "--record-calls calls" in str(error)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b'{"format": "other/1"}',
        b'{"format": "baselinekit.call/1", "asked": {}, "answer": {"text": 5}}',
        b'{"format": "baselinekit.call/1", "asked": {}, "answer": {"text": "a", "tool_calls": [1]}}',
        b'{"format": "baselinekit.call/1", "asked": {}, "answer": {"text": "", "seconds": "NaN"}}',
    ],
)
def test_recording_damaged_file_is_a_miss_or_offline_error(tmp_path: Path, raw: bytes) -> None:
    send = Counted()
    kept(tmp_path, "record", send).ask(question())
    (file,) = files(tmp_path)
    file.write_bytes(raw)
    assert failure(kept(tmp_path, "offline", Counted())).problems[0].code == "BK630"
    failure(kept(tmp_path, "offline", Counted()), question("another"))
    assert kept(tmp_path, "cache", send).ask(question()).text == "fine"
    assert send.count == 2
    assert kept(tmp_path, "offline", Counted()).ask(question()).text == "fine", "it was written again"


def test_recording_cache_is_git_ignored_and_follows_no_outside_link(tmp_path: Path) -> None:
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


def test_recording_unwritable_folder_fails_record_but_not_cache(tmp_path: Path) -> None:
    (tmp_path / "calls").write_text("a file")
    with pytest.raises(NotRecorded, match="BK120"):
        kept(tmp_path, "record", Counted()).ask(question())
    assert kept(tmp_path, "cache", Counted()).ask(question()).text == "fine"


SECRET = "correct-horse/battery+staple=="


def test_f49_recording_contains_no_secret(tmp_path: Path) -> None:
    """Not the key, not a secret in a question, and none that the model repeats, in whatever spelling."""
    import base64
    from urllib.parse import quote

    echoes = f"{SECRET} {quote(SECRET, safe='')} {base64.b64encode(SECRET.encode()).decode()} {ASCII_KEY}"
    arguments = json.dumps({"token": SECRET, SECRET: [SECRET]})
    reply = chat(echoes, tool_calls=[{"function": {"name": SECRET, "arguments": arguments}}])
    headers, settings = {"X-Api-Key": SECRET}, {"user": SECRET}
    entry = replace(ENTRY, key="k", headers=headers, settings=settings, system=f"The password is {SECRET}")
    around = world(Wire(reply), secrets={"k": ASCII_KEY, "s": SECRET})
    answer = Recording(models(entry, around), Cassettes(str(tmp_path), "calls"), "record").ask(
        question(f"Repeat {SECRET}", tools=(Tool(SECRET, SECRET, {"x": SECRET}),))
    )
    assert SECRET in answer.text, "the answer itself is whole"
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


def test_recording_key_does_not_depend_on_secret(tmp_path: Path) -> None:
    def answer_with(secret: str, mode: Mode, send: Counted) -> Answer:
        around = world(send, secrets={"k": secret})
        entry = Model(openai="x", base_url="http://127.0.0.1:9", key="k")
        source = models(entry, around)
        return Recording(source, Cassettes(str(tmp_path), "calls"), mode).ask(question(f"Say {secret}"))

    send = Counted()
    answer_with("first-secret-0001", "record", send)
    assert answer_with("second-secret-0002", "offline", send).text == "fine"


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
def test_key_of_does_not_depend_on_order_of_keys(
    given_settings: dict[str, Any], text: str, temperature: float
) -> None:
    ask = question(text, temperature=temperature, tools=(Tool("f", "", {"b": 1, "a": {"d": 1, "c": 2}}),))
    other = question(text, temperature=temperature, tools=(Tool("f", "", {"a": {"c": 2, "d": 1}, "b": 1}),))
    entry, turned_entry = (Model(openai="x", settings=s) for s in (given_settings, turned(given_settings)))
    key = key_of(parts_of(ask, entry, "openai", plain))
    assert key == key_of(parts_of(other, turned_entry, "openai", plain))
    assert key != key_of(parts_of(question(text + "."), entry, "openai", plain))
    assert len(key) == 64


def test_key_of_is_stable_between_versions() -> None:
    """Cassettes are committed, and another key would make all of them worthless."""
    ask = ModelQuestion("m", (Message("system", "Be brief."), Message("user", "Hi")), temperature=0, turn=1)
    key = key_of(parts_of(ask, ENTRY, "openai", plain))
    assert key == "aa3fc0fab6662182501e96f7995b615e086a12a35e5b16506ecd2856747c1b39"
