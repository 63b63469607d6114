"""The frozen corpus: what the command line made of 300 baselines, 77 hostile replies, 200 result files and
100 pending answers on the day it was recorded. `make corpus` plays them again and lists every difference.

`python studies/corpus.py record` makes it anew; a change of its files is a change of behaviour."""

import base64
import importlib
import json
import os
import pkgutil
import random
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, NamedTuple

import corpusdraft

import baselinekit
from baselinekit.cli.entry import main

FOLDER = Path(__file__).parent / "corpus"
SEED = 14
MOMENT = 1_764_547_200.0  # 2025-12-01T00:00:00Z, for every command
CONFIG = "version: 1\nbaselines: [baselines]\n"
ACCEPT = ("--yes", "--allow-high-risk", "--drop-placeholders", "--version", "2")
PARTS_OF_A_DIFFERENCE = ("path", "kind", "expected", "actual", "line")
BASELINES, PENDING, RESULTS = 300, 100, 200
Json = dict[str, Any]


class Ran(NamedTuple):
    exit_code: int
    out: str
    err: str


def run(folder: Path, *words: str) -> Ran:
    """One command in a process of its own, forked so that it need not import everything again."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = os.waitstatus_to_exitcode(os.waitpid(fork(folder, words, (out, err)), 0)[1])
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "backslashreplace"))
    return Ran(code, *texts)


def fork(folder: Path, words: Sequence[str], streams: Sequence[IO[bytes]]) -> int:
    """The id of a process that runs one command by the clock of the corpus."""
    child = os.fork()
    if not child:
        os.chdir(folder)
        for stream, number in zip(streams, (1, 2), strict=True):
            os.dup2(stream.fileno(), number)
        for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI", "BASELINEKIT_"))]:
            del os.environ[name]
        os.environ |= {"NO_COLOR": "1", "COLUMNS": "100", "TZ": "UTC", "HOME": str(folder)}
        sys.argv = ["baselinekit", *words]
        code = 70
        try:
            main(now=lambda: MOMENT, sleep=lambda seconds: None)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return child


@contextmanager
def answering(cases: Mapping[str, Json]) -> Iterator[str]:
    """A service that answers `/ID` as the case of that id says."""

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            case = cases[self.path.removeprefix("/")]
            body = case["body"].encode("utf-8")
            self.send_response(case["status"])
            self.send_header("Content-Type", case["content_type"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def hostile(reply: bytes) -> Iterator[str]:
    """A server that sends these bytes to each request and closes the connection."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65_536)
                    connection.sendall(reply)
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(5)
                    while connection.recv(65_536):
                        pass
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()


def normal(text: str, url: str = "") -> str:
    """A text without what differs from run to run and from machine to machine."""
    text = text.replace(url, "{url}") if url else text
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:{port}", text)
    text = re.sub(r"(platform\W+)[\w.-]+", r"\1{platform}", text)
    text = re.sub(r"baselinekit \d[\w.]*", "baselinekit {version}", text)
    return re.sub(r'("?(?:seconds|duration)"?: )[\d.e-]+', r"\1{seconds}", text)


def read_bytes(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def put(folder: Path, path: str, text: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode("utf-8"))


def shown(result: Json) -> Json:
    """The parts of a result that must not change: not its wording, and not how long it took."""
    differences = [
        {part: difference[part] for part in PARTS_OF_A_DIFFERENCE if part in difference}
        for difference in result.get("differences", ())
    ]
    return {
        "outcome": result["outcome"],
        "code": result.get("code"),
        "differences": differences,
        "resolved": result.get("resolved"),
    }


def problems_of(document: Json) -> dict[str, list[str]]:
    """What is wrong with each file, as code and line."""
    found: dict[str, list[str]] = {}
    for problem in document["problems"]:
        found.setdefault(problem["file"], []).append(f"{problem['code']}:{problem.get('line')}")
    return {file: sorted(each) for file, each in found.items()}


def judged(folder: Path, ran: Ran) -> dict[str, Json]:
    if not ran.out.startswith("{"):
        raise SystemExit(f"compare gave no results in {folder}: {ran.exit_code}\n{ran.out}{ran.err}")
    return {result["id"]: result for result in json.loads(ran.out)["results"]}


def play_baselines(cases: dict[str, Json], folder: Path) -> dict[str, Json]:
    """What becomes of each baseline: what is wrong with it, or its verdict, its record and its refresh."""
    put(folder, "baselinekit.yaml", CONFIG)
    for case in cases.values():
        put(folder, case["file"], case["text"])
    problems = problems_of(json.loads(run(folder, "doctor", "--json").out))
    found: dict[str, Json] = {}
    for id, case in cases.items():
        if case["file"] in problems:
            found[id] = {"problems": problems[case["file"]]}
            (folder / case["file"]).unlink()
    with answering(cases) as url:
        ran = run(folder, "compare", "--json", "--record", "-j", "4", "--base-url", url)
        for id, result in judged(folder, ran).items():
            recorded = read_bytes(folder / cases[id]["file"])
            found[id] = {**json.loads(normal(json.dumps(shown(result)), url)), "recorded": recorded}
        run(folder, "refresh", "--all-failed", *ACCEPT, "--base-url", url)
        for id, one in found.items():
            if one.get("outcome") == "failed":
                one["refreshed"] = normal(read_bytes(folder / cases[id]["file"]), url)
    return found


def play_hostile(replies: Mapping[str, bytes]) -> dict[str, Json]:
    found = {}
    for name, reply in replies.items():
        with tempfile.TemporaryDirectory() as place, hostile(reply) as url:
            folder = Path(place)
            put(folder, "baselinekit.yaml", CONFIG)
            put(folder, "baselines/n.yaml", HOSTILE_BASELINE)
            result = judged(folder, run(folder, "compare", "--json", "--base-url", url))["n"]
            one = shown(result)
            if len(json.dumps(one)) > 2_000:
                one["resolved"] = one["differences"] = "…"
            found[name] = one
    return found


HOSTILE_BASELINE = """\
id: n
baseline: {output: {status: 200, body: {n: 1}}}
current: {input: {endpoint: /n}, execution: {type: http, retries: 0}}
"""


def make_pending(cases: dict[str, Json], played: dict[str, Json]) -> list[Json]:
    """Pending answers as a compare leaves them, one project each, with what a refresh makes of them."""
    failing = [id for id, one in played.items() if one.get("outcome") == "failed"][:PENDING]
    found = []
    for id in failing:
        with tempfile.TemporaryDirectory() as place, answering(cases) as url:
            folder = Path(place)
            put(folder, "baselinekit.yaml", CONFIG)
            put(folder, cases[id]["file"], cases[id]["text"])
            run(folder, "compare", "--base-url", url, "--no-record")
            kept = {
                str(file.relative_to(folder)): base64.b64encode(file.read_bytes()).decode()
                for file in sorted((folder / ".baselinekit").rglob("*"))
                if file.is_file() and "pending" in file.parts
            }
        found.append({"id": id, "pending": kept, **play_pending(cases[id], kept)})
    return found


def play_pending(case: Json, kept: Mapping[str, str]) -> Json:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        put(folder, "baselinekit.yaml", CONFIG)
        put(folder, case["file"], case["text"])
        for path, content in kept.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(base64.b64decode(content))
        ran = run(folder, "refresh", case["id"], *ACCEPT)
        return {"exit_code": ran.exit_code, "refreshed": normal(read_bytes(folder / case["file"]))}


EVAL = """\
- {id: same, input: {type: echo, content: alpha}, expected: {type: exact, value: alpha}}
- {id: other, input: {type: echo, content: beta}, expected: {type: exact, value: gamma}}
- {id: holds, input: {type: echo, content: "the capital is paris"}, expected: {type: contains, value: paris}}
"""
WAYS = (("-x",), ("--maxfail", "2"), ("--shard", "1/2"), ("--shard", "2/2"), ("--tag", "corpus"), (), (), ())


def make_results(cases: dict[str, Json], played: dict[str, Json]) -> list[Json]:
    """Result files of compares of some baselines, in the ways that they are run, and of evals."""
    usable = [id for id, one in played.items() if "outcome" in one]
    found = []
    chance = random.Random(SEED)
    with answering(cases) as url:
        for number in range(RESULTS):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                put(folder, "baselinekit.yaml", CONFIG)
                if number % 10 == 9:
                    put(folder, "evals/regression/e.yaml", EVAL)
                    run(folder, "run", "evals", "-o", "r.json", "--attempts", str(1 + number % 3))
                else:
                    for id in chance.sample(usable, chance.randint(1, 5)):
                        put(folder, cases[id]["file"], cases[id]["text"])
                    run(folder, "compare", "-o", "r.json", "--base-url", url, *chance.choice(WAYS))
                if (folder / "r.json").exists():
                    text = normal(read_bytes(folder / "r.json"), url).replace("{seconds}", "0.5")
                    found.append({"file": text, **play_result(text)})
    return found


def play_result(text: str) -> Json:
    """What `report` makes of a result file, which is the way in for every reader of one."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        put(folder, "r.json", text)
        ran = run(folder, "report", "r.json", "-o", "out.json")
        out = folder / "out.json"
        merged = normal(read_bytes(out)).replace("{seconds}", "0.5") if out.exists() else None
        return {"exit_code": ran.exit_code, "merged": "same" if merged == text else merged}


def import_everything() -> None:
    """Once, so that the forked runs need not."""
    for module in pkgutil.walk_packages(baselinekit.__path__, "baselinekit."):
        if not module.name.endswith(("__main__", "embedding", "cluster", "confined")):
            importlib.import_module(module.name)


def kept(name: str) -> list[Json]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def keep(name: str, rows: list[Json]) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps(row) for row in rows]
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


CASE = ("id", "file", "text", "body", "content_type", "status")


def record() -> None:
    drafts = [corpusdraft.draft(number, random.Random(f"{SEED}-{number}")) for number in range(BASELINES)]
    cases = {draft.id: {part: getattr(draft, part) for part in CASE} for draft in drafts}
    with tempfile.TemporaryDirectory() as place:
        played = play_baselines(cases, Path(place))
    keep("baselines", [{**cases[id], "became": played[id]} for id in cases])
    keep(
        "hostile",
        [{"name": name, "became": one} for name, one in play_hostile(corpusdraft.hostile()).items()],
    )
    keep("pending", make_pending(cases, played))
    keep("results", make_results(cases, played))


def check() -> int:
    """The number of differences between what is frozen and what the code does now, each printed."""
    differing: list[str] = []

    def expect(name: str, was: Any, now: Any) -> None:
        if was != now:
            keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
            differing.append(name)
            print(f"{name}:")
            for key in keys:
                print(f"  {key}\n    was {was.get(key)!r}\n    now {now.get(key)!r}")

    rows = kept("baselines")
    cases = {row["id"]: {part: row[part] for part in CASE} for row in rows}
    with tempfile.TemporaryDirectory() as place:
        played = play_baselines(cases, Path(place))
    for row in rows:
        expect(row["id"], row["became"], played.get(row["id"], {}))
    replies = play_hostile(corpusdraft.hostile())
    for row in kept("hostile"):
        expect(f"hostile: {row['name']}", row["became"], replies[row["name"]])
    for row in kept("pending"):
        was = {key: row[key] for key in ("exit_code", "refreshed")}
        expect(f"pending: {row['id']}", was, play_pending(cases[row["id"]], row["pending"]))
    for number, row in enumerate(kept("results")):
        was = {key: row[key] for key in ("exit_code", "merged")}
        expect(f"result file {number}", was, play_result(row["file"]))
    every = sum(len(kept(name)) for name in ("baselines", "hostile", "pending", "results"))
    print(f"{len(differing)} differences in {every} cases")
    return len(differing)


if __name__ == "__main__":
    import_everything()
    if sys.argv[1:] == ["record"]:
        record()
    else:
        sys.exit(bool(check()))
