"""A hundred secrets in everything that a run reads or gets back: none of them is on disk afterwards, and none
was on the screen."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attacked import Attacked, Ran
from planted import DECLARED, KNOWN, RANDOM, SECRETS, given_away, spellings
from server import JSON, HostileServer, Peer, kept, whole

PROGRAM = """\
import json, sys
from pathlib import Path

said = json.loads(Path({said!r}).read_text())
how = sys.argv[1]
if how == "writes":
    print("\\n".join(said))
    print("\\n".join(said), file=sys.stderr)
elif how == "answers":
    print(json.dumps({{"text": " ".join(said), "list": said, "keys": dict.fromkeys(said, 1)}}))
elif how == "fails":
    print(" ".join(said[:40]), file=sys.stderr)
    sys.exit(3)
"""
CALLABLE = """\
import json
from pathlib import Path

def fails(asked):
    raise ValueError(" ".join(json.loads(Path({said!r}).read_text())[:40]))
"""
SAID = [spelled for secret in SECRETS for spelled in spellings(secret)]
NAMED = {"password": "s3same-open", "apiKey": "door-number-17", "headers": {"set-cookie": "sid=8271-4411"}}
STORED = {
    "http": {"status": 200, "headers": {"set-cookie": "as it was"}, "body": "as it was"},
    "command": {"exit_code": 0, "stdout": "as it was", "stderr": ""},
    "skill": "as it was",
    "prompt": {"text": "as it was", "tool_calls": []},
}
CALLS = {"collect": ["text", "tool_calls"]}
TOLD: dict[str, dict[str, Any]] = {"program": {}, "failing": {}}
"""Programs cannot tell which tools were called."""

KEYED = {"status": 200, "body": {"keys": {"another": "there"}}}
UNLIKE = {"keys": KEYED, "prompt-program": "as it was", "prompt-failing": "as it was"}
ONE_OF_EACH = ("sent", "shut", "writes", "skill-answers", "prompt-default", "prompt-broken")
"""Every kind of recipe, answers and errors, for the ways to run that tell no more of one than of another."""

FEW = ONE_OF_EACH if os.environ.get("BASELINEKIT_THOROUGH") else ("shut", "prompt-default")
"""What goes through those ways on an ordinary day: the first run has reported all of them."""

SECRET = {"secret": True, "hosts": ["127.0.0.1"]}
SMALL = ["s3same-open", "door-number-17", "8271-4411"]


def answer(said: Any, *lines: str, status: str = "200 OK") -> bytes:
    return whole(json.dumps(said).encode(), JSON, *lines, status=status)


def model(peer: Peer) -> bool:
    """Says everything, in its text and in the calls of its tools."""
    call = {"function": {"name": "find", "arguments": json.dumps({"query": SAID, "password": SMALL[0]})}}
    message = {"role": "assistant", "content": " ".join(SAID), "tool_calls": [call]}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    peer.say(answer({"model": "m", "choices": choices, "usage": {"prompt_tokens": 1}}))
    return True


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, server: HostileServer) -> Attacked:
    """Its programs and what they say are kept outside of it."""
    project = Attacked(tmp_path / "project", server)
    said = tmp_path / "said.json"
    said.write_text(json.dumps(SAID))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(said=str(said)))
    project.file("planted_skill.py", CALLABLE.format(said=str(said)))
    run = ["python", str(program)]
    wire = {"openai": "m", "base_url": server.url, "retries": 0}
    project.configure(
        variables={f"s{n}": {"from_env": f"S{n}", **SECRET} for n in range(len(DECLARED))},
        commands={"program": run},
        skills={
            "answers": {"command": [*run, "answers"]},
            "fails": {"command": [*run, "fails"]},
            "raises": {"python": "planted_skill:fails"},
        },
        models={
            "default": {**wire, "key": "s8"},
            "broken": {**wire, "base_url": f"{server.url}/broken"},
            "program": {"command": [*run, "writes"]},
            "failing": {"command": [*run, "fails"]},
            "raising": {"python": "planted_skill:fails"},
        },
        environment={"tool": {"command": [*run, "writes"]}},
    )
    headers = [f"X-Said-{n}: {secret}" for n, secret in enumerate((*KNOWN, *RANDOM))]
    server.routes |= {
        "/body": kept(answer({"list": SAID, **NAMED, "text": " ".join(SAID)})),
        "/keys": kept(answer({"keys": dict.fromkeys(SAID, "there")})),
        "/headers": kept(answer({"n": 1}, "Set-Cookie: sid=8271-4411; Path=/", *headers)),
        "/bad": kept(whole(json.dumps(SAID).encode()[:-1], JSON)),
        "/v1/chat/completions": model,
        "/broken/v1/chat/completions": kept(answer({"error": {"message": " ".join(SAID)}}, status="400 No")),
    }
    return project


def asking(endpoint: str, **more: Any) -> dict[str, Any]:
    return {"input": {"endpoint": endpoint}, "execution": {"type": "http", **more}}


def recipes() -> dict[str, dict[str, Any]]:
    """Each by a name of its own; the declared secrets go into headers, bodies, prompts, inputs and URLs."""
    used = {f"n{n}": f"{{{{s{n}}}}}" for n in range(len(DECLARED))}
    keep = [f"x-said-{n}" for n in range(len((*KNOWN, *RANDOM)))]
    sent = asking("/body?access_token={{s0}}&q={{s3}}")
    sent["input"] |= {"method": "POST", "json": used, "headers": {"X-A": "{{s4}}", "X-B": "Bearer {{s5}}"}}
    text = "Repeat {{note}} and " + " ".join(f"{{{{n{n}}}}}" for n in range(len(DECLARED)))
    prompt = {"text": text, "inputs": {**used, "note": "{{note}}"}}
    shut = {"input": {"url": "http://127.0.0.1:9/{{s6}}?token={{s7}}"}, "execution": {"type": "http"}}
    return {
        "sent": sent,
        "keys": asking("/keys"),
        "headers": asking("/headers", keep_headers=["set-cookie", *keep]),
        "bad": asking("/bad"),
        "shut": shut,
        "writes": {"input": {"argv": ["program", "writes"]}, "execution": {"type": "command"}},
        "no-json": {
            "input": {"argv": ["program", "fails"]},
            "execution": {"type": "command", "parse": "json"},
        },
        **{
            f"skill-{name}": {"input": used, "execution": {"type": "skill", "skill_name": name}}
            for name in ("answers", "fails", "raises")
        },
        **{
            f"prompt-{name}": {
                "input": prompt,
                "execution": {"type": "prompt", "model": name} | TOLD.get(name, CALLS),
            }
            for name in ("default", "broken", "program", "failing", "raising")
        },
    }


def environment() -> dict[str, str]:
    return {f"S{n}": secret for n, secret in enumerate(DECLARED)}


def nothing_is_out(project: Attacked, *runs: Ran) -> None:
    places = {f"run {number}": run.output for number, run in enumerate(runs)}
    for file in project.folder.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            places[str(file)] = file.read_bytes().decode("utf-8", "replace")
    for place, text in places.items():
        found = given_away(text)
        assert found == [], (place, len(found), found[:3])
        assert [small for small in SMALL if small in text] == [], place


def test_f07_f49_a_hundred_planted_secrets_are_nowhere(project: Attacked) -> None:
    assert len(set(SECRETS)) > 100
    for name, current in recipes().items():
        stored = UNLIKE.get(name, STORED[current["execution"]["type"]])
        project.baseline(name, stored, current, metadata={"failure_count": 0})
    note = " ".join((*KNOWN, *RANDOM))
    words = ["--var", f"note={note}"]

    def run(*more: str) -> Ran:
        return project.run(*more, *words, env=environment())

    first = run("compare", "-v", "--record-calls", "calls", "-o", "r.md", "-o", "r.junit.xml", "-o", "r.json")
    assert first.exit_code == 1, first.output
    results = {
        result["id"]: result for result in json.loads((project.folder / "r.json").read_text())["results"]
    }
    assert set(results) == set(recipes())
    assert {result["outcome"] for result in results.values()} == {"failed", "error"}, first.output
    assert [id for id, result in results.items() if "***" not in json.dumps(result)] == ["bad"]
    assert list((project.folder / "calls").rglob("*.json"))
    assert list((project.folder / ".baselinekit/pending").iterdir())
    project.baseline("draft", [], asking("/body"))
    draft = project.folder / "baselines/draft.yaml"
    draft.write_text(draft.read_text().replace("baseline: {output: []}\n", ""))
    one_of_each = [word for id in FEW for word in ("--id", id)]
    nothing_is_out(
        project,
        first,
        run("compare", "--json", "--cache", *one_of_each),
        run("compare", "--offline", "calls", *one_of_each),
        run("compare", "--id", "prompt-*", "--resume"),
        run("doctor", "--ci"),
        run("doctor", "--ci", "--json"),
        *(run("explain", id) for id in ("sent", "prompt-default", "skill-answers")),
        project.run("schema"),
        run("capture", "baselines/draft.yaml"),
    )


@pytest.mark.parametrize("secret", [*KNOWN, *RANDOM])
def test_f07_a_capture_stops_before_it_stores_one(secret: str) -> None:
    """In the recipe or in the output, in every spelling."""
    from baselinekit.learning.templating import secrets_in
    from baselinekit.secrets.variables import Redactor

    for spelled in spellings(secret):
        for value in ({"a": [spelled]}, {"text": f"It is {spelled} now."}, {spelled: 1}):
            assert list(secrets_in(value, Redactor({}))), value


WAYS = {
    "the answer": ["http", "GET", "{url}/one", "--id", "x"],
    "the path": ["http", "GET", f"{{url}}/{KNOWN[0]}", "--id", "x"],
    "the body": ["http", "POST", "{url}/fine", "--id", "x", "-d", json.dumps({"a": RANDOM[0]})],
    "a parameter": ["http", "GET", "{url}/fine", "--id", "x", "--param", f"password={SMALL[0]}"],
    "what a program writes": ["command", "--id", "x", "--", "program", "writes"],
    "what a skill answers": ["skill", "answers", "--id", "x"],
    "what a model says": ["prompt", "ask.md", "--id", "x", "--collect", "text", "--collect", "tool_calls"],
}


@pytest.mark.parametrize("way", WAYS)
def test_f07_a_capture_that_would_store_one_says_where(project: Attacked, way: str) -> None:
    project.server.routes |= {"/one": kept(answer({"user": {"note": RANDOM[1]}})), "/fine": kept(answer({}))}
    project.server.routes[f"/{KNOWN[0]}"] = kept(answer({}))
    project.file("ask.md", "Repeat.\n")
    words = [word.replace("{url}", project.server.url) for word in WAYS[way]]
    refused = project.run("capture", *words, env=environment(), base_url="")
    assert (refused.exit_code, "BK522" in refused.err) == (4, True), refused.output
    declared = "holds the secret s" in refused.err  # which is never stored
    assert "--allow-secrets" in refused.err or declared, refused.err
    nothing_is_out(project, refused)
    assert not list(project.folder.glob("baselines/**/*.yaml"))
    if way == "the answer":
        assert "body.user.note holds what looks like a random token" in refused.err
        stands = project.run(
            "capture", *words, "--placeholder", "user.note=<<any_string>>", env=environment(), base_url=""
        )
        assert stands.exit_code == 0
        nothing_is_out(project, stands)


def test_f07_a_declared_secret_is_named_in_file_names_too(project: Attacked) -> None:
    secret = DECLARED[6]
    project.server.routes[f"/users/{secret}"] = kept(answer({"said": f"I am {secret}."}))
    url = f"{project.server.url}/users/{secret}"
    captured = project.run("capture", "http", "GET", url, env=environment(), base_url="")
    assert captured.exit_code == 0, captured.output
    (file,) = project.folder.glob("baselines/**/*.yaml")
    assert "I am <<var(s6)>>." in file.read_text()
    assert secret.lower() not in str(file)
    nothing_is_out(project, captured)


def test_a_secret_around_a_run_is_no_drift(project: Attacked) -> None:
    """Masked at the capture, it is masked when it is compared as well."""
    said = ["echo", f"{DECLARED[6]} {KNOWN[0]}"]
    variables = {"s": {"from_env": "S6", "secret": True}}
    project.configure(environment={"tool": {"command": said}}, variables=variables)
    project.server.routes["/n"] = kept(answer({"n": 1}))
    words = ["GET", f"{project.server.url}/n", "--id", "x"]
    assert project.run("capture", *words, env=environment(), base_url="").exit_code == 0
    (file,) = project.folder.glob("baselines/**/*.yaml")
    assert "*** *** (a GitHub token)" in file.read_text()
    project.server.routes["/n"] = kept(answer({"n": 2}))
    ran = project.run("compare", "--json", env=environment(), base_url="")
    assert ran.results["x"]["differences"]
    assert ran.results["x"]["environment_drift"] == {}


def test_questions_with_other_tokens_are_other_questions(project: Attacked) -> None:
    """What looks like a secret is in no recorded call, and tells one call from another all the same."""
    project.configure(models={"default": {"openai": "m", "base_url": project.server.url}})
    said = {"choices": [{"message": {"content": "as it was"}, "finish_reason": "stop"}]}
    project.server.routes["/v1/chat/completions"] = kept(answer(said))
    prompt = {"input": {"text": "Use {{t}}.", "inputs": {"t": "{{t}}"}}, "execution": {"type": "prompt"}}
    file = project.baseline("p", [], prompt)
    file.write_text(file.read_text().replace("{output: []}", "{output: as it was}"))

    def asked(token: str, way: str) -> int:
        return project.run("compare", "--var", f"t={token}", way, "calls").exit_code

    assert asked(RANDOM[0], "--record-calls") == 0
    assert asked(RANDOM[0], "--offline") == 0
    assert asked(RANDOM[1], "--offline") == 3
    (call,) = (project.folder / "calls").rglob("*.json")
    assert "Use *** (a random token)." in call.read_text()
