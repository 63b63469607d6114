"""The calls of a test against those on file: which one is meant, what differs where none is, and what is kept
when the test has ended."""

import re
from typing import Any

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.models.exchanges import HttpAnswer
from baselinekit.pytest_plugin.tape import CallUnderWay, MatchSettings, Mode, Tape
from baselinekit.variables import Redactor

TEST = "tests/test_chat.py::test_it"
URL = "https://api.example.com/v1/chat"
JSON = (("content-type", "application/json"),)


class Missed(Exception):
    """What a call is answered with that nobody recorded."""


def tape_of(known: Any = None, mode: Mode = "replay", test: str = TEST, **counting: Any) -> Tape:
    now = iter(f"2026-01-01T00:00:{n:02}Z" for n in range(60))
    return Tape(
        "cassettes/chat.yaml",
        test,
        mode,
        known or {},
        Redactor({}),
        Missed,
        lambda: next(now),
        MatchSettings(**counting),
    )


def ask(tape: Tape, body: bytes = b"", url: str = URL, method: str = "POST", headers: Any = JSON) -> Any:
    return tape.ask(method, url, headers if body else (), body)


def answer(body: bytes = b'{"n": 1}', status: int = 200, complete: bool = True) -> HttpAnswer:
    return HttpAnswer(status, (("content-type", "application/json"),), body, complete)


def recorded(*calls: tuple[bytes, bytes], **asked: Any) -> dict[str, Any]:
    """The file after a test that passed, in which these bodies were asked and answered."""
    tape = tape_of(mode="record")
    for body, said in calls:
        ask(tape, body, **asked).answered(answer(said))
    calls_kept = tape.finish(passed=True).calls
    assert calls_kept is not None
    return {TEST: calls_kept}


def said(found: Any) -> bytes:
    assert isinstance(found, HttpAnswer), found
    return found.body


BASE = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be\nbrief"}, {"role": "user", "content": "hi"}],
}
HEADERS = (*JSON, ("x-api-version", "7"), ("user-agent", "a/1"), ("authorization", "Bearer abcdef123456"))


def encoded(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()


def changed(**parts: Any) -> bytes:
    return encoded({**BASE, **parts})


SAME: dict[str, dict[str, Any]] = {
    "as it was": {},
    "keys in another order": {"body": encoded(dict(reversed(BASE.items())))},
    "JSON with other blanks": {"body": encoded(BASE).replace(b": ", b":")},
    "another user agent": {"headers": (*HEADERS[:2], ("user-agent", "b/2"), HEADERS[3])},
    "another key": {"headers": (*HEADERS[:3], ("authorization", "Bearer other0123456"))},
    "no key at all": {"headers": HEADERS[:3]},
    "a header in capitals": {"headers": (("Content-Type", "application/json; charset=utf-8"), HEADERS[1])},
    "the query in another order": {"url": f"{URL}?b=2&a=1&key=k1234567890abcdefgh"},
    "another secret in the query": {"url": f"{URL}?a=1&b=2&key=zzzzzzzzz0987654321"},
    "the usual port": {"url": "https://API.example.com:443/v1/chat?a=1&b=2&key=k1234567890abcdefgh"},
    "what an SDK says of itself": {"headers": (*HEADERS, ("x-stainless-package-version", "9"))},
}
DIFFERING: dict[str, tuple[dict[str, Any], set[str]]] = {
    "the method": ({"method": "PUT"}, {"method"}),
    "the path": ({"url": URL.replace("v1", "v2") + "?a=1&b=2&key=k1234567890abcdefgh"}, {"url"}),
    "a value of the query": ({"url": f"{URL}?a=1&b=3&key=k1234567890abcdefgh"}, {"query.b"}),
    "one more in the query": ({"url": f"{URL}?a=1&b=2&c=3&key=k1234567890abcdefgh"}, {"query.c"}),
    "one less in the query": ({"url": f"{URL}?a=1&key=k1234567890abcdefgh"}, {"query.b"}),
    "a header that counts": ({"headers": (HEADERS[0], ("x-api-version", "8"))}, {"headers.x-api-version"}),
    "a header that is not sent": ({"headers": HEADERS[:1]}, {"headers.x-api-version"}),
    "one word of a prompt": (
        {"body": changed(messages=[BASE["messages"][0], {"role": "user", "content": "ho"}])},
        {"body.messages[1].content"},
    ),
    "one line of a prompt": (
        {"body": changed(messages=[{"role": "system", "content": "Be\nlong"}, BASE["messages"][1]])},
        {"body.messages[0].content"},
    ),
    "one more message": (
        {"body": changed(messages=[*BASE["messages"], {"role": "user", "content": "and?"}])},
        {"body.messages[2]"},
    ),
    "one less message": ({"body": changed(messages=BASE["messages"][:1])}, {"body.messages[1]"}),
    "another model": ({"body": changed(model="n")}, {"body.model"}),
    "a setting that is new": ({"body": changed(temperature=0.2)}, {"body.temperature"}),
    "a part that is gone": ({"body": encoded({"messages": BASE["messages"]})}, {"body.model"}),
    "a number that is a text": ({"body": changed(n="1")}, {"body.n"}),
    "two places at once": ({"body": changed(model="n", seed=1)}, {"body.model", "body.seed"}),
}


def whole(**parts: Any) -> dict[str, Any]:
    url = f"{URL}?a=1&b=2&key=k1234567890abcdefgh"
    return {"body": encoded(BASE), "url": url, "method": "POST", "headers": HEADERS} | parts


def the_file() -> Any:
    tape = tape_of(mode="record")
    ask(tape, **whole()).answered(answer())
    return {TEST: tape.finish(passed=True).calls}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_count_is_the_same_call(name: str) -> None:
    assert said(ask(tape_of(the_file()), **whole(**SAME[name]))) == b'{"n":1}'


@pytest.mark.parametrize("name", DIFFERING)
def test_a_call_that_is_not_recorded_says_which_part_differs(name: str) -> None:
    """Measured: all of these cases have their parts named, and no other one."""
    parts, places = DIFFERING[name]
    tape = tape_of(the_file())
    with pytest.raises(Missed) as missed:
        ask(tape, **whole(**parts))
    text = str(missed.value)
    assert set(re.findall(r"^  ([a-z]\S*)(?:  not recorded|  missing.*)?$", text, re.MULTILINE)) == places
    assert text.startswith("BK630 ")
    assert f"pytest {TEST} --baseline-update=" in text
    assert tape.missed == [text]


def test_of_several_recorded_calls_the_nearest_is_told() -> None:
    known = recorded((changed(model="far", n=5, seed=1), b"1"), (changed(), b"2"), (encoded({"x": 1}), b"3"))
    with pytest.raises(Missed, match=r"\n  body.model\n    - \"m\"\n    \+ \"other\"\n\nrecord it"):
        ask(tape_of(known), changed(model="other"))


def test_an_unknown_host_is_told_as_that() -> None:
    with pytest.raises(Missed, match=r"holds no call to other.example, but to api.example.com"):
        ask(tape_of(the_file()), url="https://other.example/")
    with pytest.raises(Missed, match=r"holds no call yet\nrecord it: pytest .* --baseline-update=new"):
        ask(tape_of(), url="https://other.example/")


@pytest.mark.parametrize(("url", "host"), [("http://[x/y", r"\[x"), ("https://h:x?a=1", "h:x"), (7, "")])
def test_the_url_of_a_recorded_call_may_be_any_text(url: Any, host: str) -> None:
    """Somebody edited the file."""
    ((test, calls),) = the_file().items()
    edited = [{**call, "request": {**call["request"], "url": url}} for call in calls]
    with pytest.raises(Missed, match=rf"holds no call to other.example, but to {host}\n"):
        ask(tape_of({test: edited}), url="https://other.example/")


def test_what_varies_by_nature_is_told_how_to_leave_out() -> None:
    known = recorded((b'{"at": "2026-01-01T10:00:00Z", "q": 1}', b"1"))
    with pytest.raises(Missed, match=r'ignore=\["body.at"\]'):
        ask(tape_of(known), b'{"at": "2026-02-03T11:12:13Z", "q": 1}')
    ignoring = tape_of(known, ignore=("body.at",))
    assert said(ask(ignoring, b'{"at": "2026-02-03T11:12:13Z", "q": 1}')) == b"1"


def test_a_placeholder_in_a_recorded_request_stands_for_what_varies() -> None:
    known = recorded((b'{"at": "2026-01-01T10:00:00Z", "q": 1}', b"1"))
    known[TEST][0]["request"]["body"]["at"] = "<<any_iso_datetime>>"
    assert said(ask(tape_of(known), b'{"at": "2026-02-03T11:12:13Z", "q": 1}')) == b"1"
    with pytest.raises(Missed):
        ask(tape_of(known), b'{"at": "tomorrow", "q": 1}')
    again = tape_of(known, mode="all")
    ask(again, b'{"at": "2026-02-03T11:12:13Z", "q": 1}').answered(answer(b"2"))
    (kept,) = again.finish(passed=True).calls or ()
    assert kept["request"]["body"]["at"] == "<<any_iso_datetime>>"  # what a hand wrote stays
    assert kept["response"]["body"] == 2


def test_a_text_that_reads_like_a_placeholder_is_a_text() -> None:
    known = recorded((b'{"q": "what is <<any_uuid>>?"}', b"1"))
    assert said(ask(tape_of(known), b'{"q": "what is <<any_uuid>>?"}')) == b"1"
    with pytest.raises(Missed):
        ask(tape_of(known), b'{"q": "what is 6f1b3c2e-7a54-4d0e-9a51-0c8f6f0e8a11?"}')


def test_the_same_request_gets_its_answers_in_their_order() -> None:
    known = recorded((b"{}", b"1"), (b"{}", b"2"), (b'{"a": 1}', b"3"), (b"{}", b"4"))
    tape = tape_of(known)
    assert [said(ask(tape, b"{}")) for _ in range(2)] == [b"1", b"2"]
    assert said(ask(tape, b'{"a": 1}')) == b"3"
    assert said(ask(tape, b"{}")) == b"4"
    with pytest.raises(Missed, match=r"is asked 4 times: cassettes/chat.yaml has 3 answers, which differ"):
        ask(tape, b"{}")


def test_once_more_than_recorded_is_answered_where_all_answers_say_the_same() -> None:
    tape = tape_of(recorded((b"{}", b"1"), (b"{}", b"1")))
    assert [said(ask(tape, b"{}")) for _ in range(4)] == [b"1"] * 4


def test_what_another_test_has_recorded_counts_where_nobody_can_be_asked() -> None:
    known = recorded((b"{}", b"1"))
    assert said(ask(tape_of(known, test="tests/test_chat.py::test_renamed"), b"{}")) == b"1"
    assert isinstance(ask(tape_of(known, "record", "tests/test_chat.py::test_renamed"), b"{}"), CallUnderWay)


def test_at_a_desk_what_is_new_is_asked_and_what_has_changed_is_told() -> None:
    known = recorded((b'{"q": 1}', b"1"), (b'{"q": 2}', b"2"))
    tape = tape_of(known, "record")
    with pytest.raises(Missed, match="--baseline-update=changed"):
        ask(tape, b'{"q": 3}')
    assert [said(ask(tape, b'{"q": %d}' % n)) for n in (1, 2)] == [b"1", b"2"]
    ask(tape, b'{"q": 3}').answered(answer(b"3"))  # all recorded ones were made: this one is new
    ask(tape, b"{}", url=f"{URL}/other").answered(answer(b"4"))
    outcome = tape.finish(passed=True)
    assert [call["response"]["body"] for call in outcome.calls or ()] == [1, 2, 3, 4]
    assert (outcome.recorded, outcome.unused, outcome.removed) == (2, 0, 0)


@pytest.mark.parametrize(
    ("mode", "asked", "kept"), [("new", 1, [1, 2, 9]), ("changed", 1, [1, 9]), ("all", 2, [8, 9])]
)
def test_an_update_asks_for_what_it_says(mode: Mode, asked: int, kept: list[int]) -> None:
    tape = tape_of(recorded((b'{"q": 1}', b"1"), (b'{"q": 2}', b"2")), mode)
    first = ask(tape, b'{"q": 1}')
    if isinstance(first, CallUnderWay):
        first.answered(answer(b"8"))
    ask(tape, b'{"q": 3}').answered(answer(b"9"))
    outcome = tape.finish(passed=True)
    assert [call["response"]["body"] for call in outcome.calls or ()] == kept
    assert outcome.recorded == asked
    assert outcome.removed == 3 - len(kept)


def test_a_test_that_fails_loses_nothing_and_keeps_what_was_answered() -> None:
    known = recorded((b'{"q": 1}', b"1"), (b'{"q": 2}', b"2"))
    tape = tape_of(known, "all")
    ask(tape, b'{"q": 2}').answered(answer(b"7"))
    ask(tape, b'{"q": 3}').answered(answer(b"3"))
    ask(tape, b'{"q": 4}').answered(answer(b'{"error": 1}', status=401))
    ask(tape, b'{"q": 5}').answered(answer(b"{", complete=False))
    ask(tape, b'{"q": 6}')  # never answered
    outcome = tape.finish(passed=False)
    assert [call["response"]["body"] for call in outcome.calls or ()] == [1, 7, 3]
    assert outcome.dropped == (401, 200)


def test_a_test_that_passes_keeps_every_status() -> None:
    tape = tape_of(mode="record")
    for status in (503, 200):
        ask(tape, b"{}").answered(answer(status=status))
    again = tape_of({TEST: tape.finish(passed=True).calls})
    assert [ask(again, b"{}").status for _ in range(2)] == [503, 200]


def test_recorded_calls_that_were_not_made_are_counted_and_stay() -> None:
    tape = tape_of(recorded((b'{"q": 1}', b"1"), (b'{"q": 2}', b"2")), "record")
    ask(tape, b'{"q": 2}')
    outcome = tape.finish(passed=True)
    assert (outcome.calls, outcome.unused) == (None, 1)


def test_a_stream_that_its_reader_left_ends_with_an_error() -> None:
    tape = tape_of(mode="record")
    events = HttpAnswer(200, (("content-type", "text/event-stream"),), b"data: 1\n\ndata: 2\n\n", False)
    ask(tape, b"{}").answered(events)
    again = tape_of({TEST: tape.finish(passed=True).calls})
    pieces = again.pieces(ask(again, b"{}"))
    assert [next(pieces), next(pieces)] == [b"data: 1\n\n", b"data: 2\n\n"]
    with pytest.raises(Missed, match="ends here"):
        next(pieces)


def test_hosts_are_recorded_or_passed_through_by_name_port_and_pattern() -> None:
    counting = MatchSettings(
        pass_through=("127.0.0.1:8000", "*.internal"), only=("api.example.com", "*.internal")
    )
    assert counting.wants(URL)
    assert not counting.wants("https://a.internal/x")
    assert not counting.wants("https://elsewhere.example/")
    local = MatchSettings(pass_through=("127.0.0.1:8000",))
    assert not local.wants("http://127.0.0.1:8000/")
    assert local.wants("http://127.0.0.1:8001/")
    assert not MatchSettings(pass_through=("api.example.com:443",)).wants(URL)


def test_a_header_can_be_made_to_count() -> None:
    tape = tape_of(mode="record", headers=("X-Tenant",))
    tape.ask("GET", URL, [("x-tenant", "a")], b"").answered(answer(b"1"))
    known = {TEST: tape.finish(passed=True).calls}
    assert said(tape_of(known, headers=("x-tenant",)).ask("GET", URL, [("X-TENANT", "a")], b"")) == b"1"
    with pytest.raises(Missed, match=r"headers.x-tenant"):
        tape_of(known, headers=("x-tenant",)).ask("GET", URL, [("X-TENANT", "b")], b"")


def test_a_path_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidInput):
        tape_of(ignore=("body[",))
