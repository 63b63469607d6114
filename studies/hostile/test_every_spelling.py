"""The 300 secrets, declared, and said back in every spelling by a server, a program, a model and a judge,
also where texts are cut: nothing of them is on the screen or on disk."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attacked import Attacked, Ran
from secretdrill import SECRETS, spellings, windows
from server import JSON, HostileServer, Peer, kept, whole

LONG = [secret for secret in SECRETS if len(secret) >= 12 and len(set(secret)) > 4 and "***" not in secret]
"""Of a shorter one, what is left of it could be left of anything."""

EACH = 3
THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
PARTS = 6 if THOROUGH else 24
TRIED = range(PARTS if THOROUGH else 1)
"""All of it takes minutes. The ordinary run takes a small part, and some of the commands."""
LIMITS = (40, 60, 80, 160, 200, 300, 500, 1_000, 2_000, 20_000)
PROGRAM = """\
import json, sys
from pathlib import Path

said = json.loads(Path({said!r}).read_text())
SAYS = "\\n".join(said)
CODE = f'''
SAYS = {{SAYS!r}}

def f(how):
    if how == "prints":
        print("x" * 3_000 + SAYS)
    if how == "raises":
        raise ValueError("y" * 1_900 + SAYS)
    return {{{{"z" * 1_900 + SAYS}}}} if how == "looks" else SAYS
'''
how = sys.argv[1]
if how == "writes":
    print("\\n".join(said))
    print("\\n".join(said), file=sys.stderr)
elif how == "overflows":
    print("\\n".join(2 * said), file=sys.stderr)
    print("one line: " + " ".join(said), file=sys.stderr)
elif how == "solves":
    print(f"```python\\n{{CODE}}```")
elif how == "learns":
    Path("learnt.json").write_text(sys.stdin.read())
    print("\\n".join(said), file=sys.stderr)
    sys.exit(1)
elif how == "fails":
    print(said[int(sys.argv[2])], file=sys.stderr)
    sys.exit(3)
elif how == "hangs":
    import time
    print("first\\n" + " ".join(said), file=sys.stderr, flush=True)
    time.sleep(60)
"""


def _planted(part: int) -> list[tuple[str, str, str]]:
    """Each secret in a few spellings, so that each spelling is there often."""
    planted = []
    for number, secret in enumerate(LONG[part::PARTS]):
        every = list(spellings(secret))
        for step in range(EACH):
            name, text = every[(number * EACH + part + 7 * step) % len(every)]
            planted.append((secret, name, text))
    return planted


def _at_limits(planted: list[tuple[str, str, str]]) -> list[str]:
    """Texts in which a secret lies across each of the places where one could be cut."""
    cut = []
    for limit in LIMITS:
        for secret, _, text in planted[:: len(planted) // 4]:
            cut.append("x" * max(0, limit - len(text) // 2) + f" {text} " + "y" * 300)
            cut.append("lorem " * ((limit - min(limit, len(secret) // 2)) // 6) + secret + " ipsum" * 50)
    return cut


def _told(planted: list[tuple[str, str, str]]) -> dict[str, str]:
    """What may be nowhere, and whose it is: of each spelling a piece at its beginning, middle and end."""
    told = {}
    for secret, name, text in [*planted, *((secret, "plain", secret) for secret, _, _ in planted)]:
        found = sorted(windows(secret, name), key=text.find)
        for place in {0, len(found) // 2, len(found) - 1} if found else ():
            piece = found[place]
            if len(piece.strip()) >= 6 and not {"TEST K", "BEGIN ", "-----B", "KEY---"} & {piece[:6]}:
                told[piece] = f"{name}: {secret}"
    return {piece: whose for piece, whose in told.items() if not _is_ordinary(piece)}


def _is_ordinary(piece: str) -> bool:
    """What stands in pages and reports anyway."""
    is_word = piece.strip("-\n\\+ ").isalpha() and len(piece) < 8
    return is_word or "-----" in piece or not piece.strip("\\ \"'&;=")


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


def _answer(said: Any, *lines: str, status: str = "200 OK") -> bytes:
    return whole(json.dumps(said).encode(), JSON, *lines, status=status)


def _model(text: str) -> Any:
    def say(peer: Peer) -> bool:
        message = {"role": "assistant", "content": text}
        peer.say(_answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
        return True

    return say


@pytest.fixture
def project(tmp_path: Path, server: HostileServer, request: pytest.FixtureRequest) -> Attacked:
    planted = _planted(request.param)
    texts, cut = [text for _, _, text in planted], _at_limits(planted)
    project = Attacked(tmp_path / "project", server)
    said, program = tmp_path / "said.json", tmp_path / "program.py"
    said.write_text(json.dumps(texts))
    program.write_text(PROGRAM.format(said=str(said)))
    run = ["python", str(program)]
    wire = {"openai": "m", "base_url": server.url, "retries": 0}
    secret = {"secret": True, "hosts": ["127.0.0.1"]}
    project.configure(
        variables={
            f"s{n}": {"from_env": f"S{n}", **secret} for n in range(len(LONG[request.param :: PARTS]))
        },
        commands={"program": run},
        notify={"command": [*run, "learns"]},
        skills={"hangs": {"command": [*run, "hangs"]}},
        models={
            "default": wire,
            "broken": {**wire, "base_url": f"{server.url}/broken"},
            "judge": {**wire, "base_url": f"{server.url}/judge"},
        },
    )
    plain = [secret for secret, _, _ in planted if secret.isascii() and secret.isprintable()]
    headers = [f"X-Said-{n}: {secret}" for n, secret in enumerate(dict.fromkeys(plain))]
    server.routes |= {
        "/list": kept(_answer({"list": texts})),
        "/text": kept(_answer({"text": "\n".join(texts), "lines": "\n".join(texts).split("\n")})),
        "/cut": kept(_answer({"list": cut, "keys": dict.fromkeys(cut, 1)})),
        "/headers": kept(_answer({"n": 1}, *headers)),
        "/coded": kept(_answer({"n": 1}, f"Content-Encoding: {'x' * 70}{plain[3]}")),
        "/away": kept(_answer({}, f"Location: http://[{'x' * 190}{plain[4]}", status="302 Found")),
        "/v1/chat/completions": _model(" ".join(cut)),
        "/judge/v1/chat/completions": _model("\n".join(cut)),
        "/broken/v1/chat/completions": kept(
            _answer({"error": {"message": " ".join(cut[:40])}}, status="400 No")
        ),
    }
    return project


def _recipes() -> dict[str, tuple[Any, dict[str, Any]]]:
    http = {"type": "http"}
    stored = {"status": 200, "headers": {}, "body": {"as": "it was"}}
    paths = ("list", "text", "cut", "headers", "coded", "away")
    keep = [f"x-said-{n}" for n in range(40)]
    found: dict[str, tuple[Any, dict[str, Any]]] = {
        path: (stored, {"input": {"endpoint": f"/{path}"}, "execution": {**http, "keep_headers": keep}})
        for path in paths
    }
    output = {"exit_code": 0, "stdout": "as it was", "stderr": ""}
    for how in ("writes", "overflows"):
        found[how] = (output, {"input": {"argv": ["program", how]}, "execution": {"type": "command"}})
    for n in range(0, 100, 9):
        asked = {"argv": ["program", "fails", str(n)]}
        found[f"fails-{n}"] = (output, {"input": asked, "execution": {"type": "command", "parse": "json"}})
    execution = {"type": "skill", "skill_name": "hangs", "timeout": 2}
    found["hangs"] = ("as it was", {"input": {}, "execution": execution})
    for model in ("default", "broken"):
        execution = {"type": "prompt", "model": model}
        found[model] = ("as it was", {"input": {"text": "Say it."}, "execution": execution})
    scores = {"rubric": {"kind": "Is it kind?"}, "model": "judge"}
    execution = {"type": "prompt", "model": "default", "scores": scores}
    found["judged"] = ("as it was", {"input": {"text": "Say it."}, "execution": execution})
    return found


EVALS = """\
- id: exact
  input: {type: prompt, content: "Say it."}
  expected_output: {type: exact, value: as it was}
- id: judged
  input: {type: prompt, content: "Say it."}
  grader: {type: model, config: {model: judge, rubric: "1. Kind (1.0): it is kind"}}
- id: rated
  input: {type: prompt, content: "Say it."}
  grader: {type: human, config: {rating_scale: {type: binary}}}
- id: solved
  input: {type: command, content: {argv: [program, solves]}}
  execution: {type: command}
  grader:
    type: code
    config:
      method: function_output
      function_name: f
      test_cases: [{args: [prints], expected: 1}, {args: [raises], expected: 1}, {args: [looks], expected: 1}]
- id: schema
  input: {type: prompt, content: "Say it."}
  grader: {type: code, config: {method: json_schema, schema: {type: object}}}
"""


def _forms(name: str) -> Iterator[str]:
    for form in ("md", "junit.xml", "html"):
        yield from ("-o", f"out/{name}.{form}")


COMMANDS = (
    "compare --json",
    "compare --lf -q",
    "refresh --json",
    "refresh --all-failed --dry-run",
    "refresh list --yes --allow-high-risk --by ada --reason known",
    "review --json",
    "run --allow-exec --json",
    "run --list -v",
    "gate out/e.json --require pass@1>=0.9",
    "gate out/e.json --json",
    "report out/e.json --json",
    "grade --list",
    "grade --json",
    "grade --export out/queue.yaml",
    "calibrate",
    "report",
    "report --json",
    "report -o out/history.html",
    "doctor",
    "doctor --json",
    "doctor --ci",
    "explain default",
    "explain judged",
    "explain writes",
    "capture http /text --id again",
    "capture http /cut --id cut-again --allow-secrets",
    "capture command --id told -- program writes",
)
"""Everything that shows or keeps something of what came back."""


def _nothing_is_out(project: Attacked, told: dict[str, str], *runs: Ran) -> None:
    places = {f"run {number}": run.said for number, run in enumerate(runs)}
    for file in project.folder.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            name = str(file.relative_to(project.folder))
            places[name] = name + file.read_bytes().decode("utf-8", "replace")
    for place, text in places.items():
        found = [(piece, told[piece]) for piece in told if piece in text]
        assert found == [], (place, len(found), found[:3])


@pytest.mark.parametrize(("part", "project"), [(part, part) for part in TRIED], indirect=["project"])
def test_every_spelling_of_300_secrets_is_nowhere(part: int, project: Attacked) -> None:
    for id, (output, current) in _recipes().items():
        project.baseline(id, output, current)
    project.file("evals/capability/all.yaml", EVALS)
    project.file("evals/eval-suite.yaml", "eval_suite: {name: All, evals: [{$ref: ./capability/all.yaml}]}\n")
    environment = {f"S{n}": secret for n, secret in enumerate(LONG[part::PARTS])}
    environment["GITHUB_STEP_SUMMARY"] = str(project.folder / "summary.md")
    environment["GITHUB_ACTIONS"] = "true"

    def run(*words: str) -> Ran:
        return project.run(*words, env=environment)

    out = project.folder / "out"
    forms = ("-o", "out/r.json", "-o", "out/r.sarif", *_forms("r"))
    compared = run("compare", "-v", "--record-calls", "calls", *forms)
    assert compared.exit_code == 1, compared.said[-2_000:]
    results = json.loads((out / "r.json").read_text())["results"]
    assert {result["outcome"] for result in results} == {"failed", "error"}
    assert {result["id"] for result in results} == set(_recipes())
    ran = run("run", "--allow-exec", "-v", "-o", "out/e.json", *_forms("e"))
    assert ran.exit_code == 1, ran.said[-2_000:]
    graded = {one["id"]: one["outcome"] for one in json.loads((out / "e.json").read_text())["results"]}
    assert graded.keys() == {"exact", "judged", "rated", "solved", "schema"}, graded
    assert graded["exact"] == graded["solved"] == graded["schema"] == "failed", graded
    assert (project.folder / "learnt.json").exists(), ran.err[-2_000:]
    runs = [compared, ran, *(run(*words.split()) for words in COMMANDS[:: 1 if THOROUGH else 6])]
    broken = [line[:500] for one in runs for line in one.said.splitlines() if "internal error" in line]
    assert broken == []
    assert list((project.folder / "calls").rglob("*.json"))
    assert list((project.folder / ".baselinekit/pending").rglob("*"))
    _nothing_is_out(project, _told(_planted(part)), *runs)
