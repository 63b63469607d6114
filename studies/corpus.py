"""The frozen corpus: what the command line made of 300 baselines, 77 hostile replies, 200 result files and
100 pending answers on the day it was recorded. `make corpus` plays them again and lists every difference.

The cases were drawn by chance once: a case more is a line more in studies/corpus/*.jsonl. What becomes of
each is written anew by `python studies/corpus.py record`; a change there is a change of behaviour."""

import base64
import importlib
import json
import os
import pkgutil
import re
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

sys.path.extend(
    str(Path(__file__).parents[1] / folder) for folder in ("tests", "tests/commands", "tests/hostile")
)

from little_api import LittleApi
from server import HostileServer

import baselinekit
from baselinekit.cli.entry import main

FOLDER = Path(__file__).parent / "corpus"
MOMENT = 1_764_547_200.0  # 2025-12-01T00:00:00Z, for every command
CONFIG = "version: 1\nbaselines: [baselines]\n"
ACCEPT = ("--yes", "--allow-high-risk", "--drop-placeholders", "--version", "2")
PARTS_OF_A_DIFFERENCE = ("path", "kind", "expected", "actual", "line")
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


def answering(cases: Mapping[str, Json]) -> LittleApi:
    """A service that answers `/ID` as the case of that id says."""
    return LittleApi(
        {f"/{id}": (case["status"], case["content_type"], case["body"]) for id, case in cases.items()}
    )


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
    with answering(cases) as service:
        url = service.url
        ran = run(folder, "compare", "--json", "--record", "-j", "4", "--base-url", url)
        for id, result in judged(folder, ran).items():
            recorded = read_bytes(folder / cases[id]["file"])
            found[id] = {**json.loads(normal(json.dumps(shown(result)), url)), "recorded": recorded}
        run(folder, "refresh", "--all-failed", *ACCEPT, "--base-url", url)
        for id, one in found.items():
            if one.get("outcome") == "failed":
                one["refreshed"] = normal(read_bytes(folder / cases[id]["file"]), url)
    return found


def play_hostile(reply: bytes) -> Json:
    with tempfile.TemporaryDirectory() as place, HostileServer(otherwise=reply) as server:
        folder = Path(place)
        put(folder, "baselinekit.yaml", CONFIG)
        put(folder, "baselines/n.yaml", HOSTILE_BASELINE)
        found = shown(judged(folder, run(folder, "compare", "--json", "--base-url", server.url))["n"])
    if len(json.dumps(found)) > 2_000:
        found["resolved"] = found["differences"] = "…"
    return found


HOSTILE_BASELINE = """\
id: n
baseline: {output: {status: 200, body: {n: 1}}}
current: {input: {endpoint: /n}, execution: {type: http, retries: 0}}
"""


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


def replayed() -> dict[str, list[Json]]:
    """Every row of the corpus, with what becomes of its case now."""
    rows = kept("baselines")
    cases = {row["id"]: {part: row[part] for part in CASE} for row in rows}
    with tempfile.TemporaryDirectory() as place:
        became = play_baselines(cases, Path(place))
    replies = [(row, zlib.decompress(base64.b64decode(row["reply"]))) for row in kept("hostile")]
    return {
        "baselines": [{**row, "became": became.get(row["id"], {})} for row in rows],
        "hostile": [{**row, "became": play_hostile(reply)} for row, reply in replies],
        "pending": [{**row, **play_pending(cases[row["id"]], row["pending"])} for row in kept("pending")],
        "results": [{**row, **play_result(row["file"])} for row in kept("results")],
    }


def check() -> int:
    """The number of differences between what is frozen and what the code does now, each printed."""
    count = differing = 0
    for name, rows in replayed().items():
        for number, (was, now) in enumerate(zip(kept(name), rows, strict=True)):
            count += 1
            differing += was != now
            before, after = ({**row, **row.get("became", {})} for row in (was, now))
            for key in sorted({*before, *after} - {"became"}):
                if before.get(key) != after.get(key):
                    case = was.get("id") or was.get("name") or number
                    print(f"{name}: {case}: {key}\n  was {before.get(key)!r}\n  now {after.get(key)!r}")
    print(f"{differing} differences in {count} cases")
    return differing


if __name__ == "__main__":
    import_everything()
    if sys.argv[1:] == ["record"]:
        for name, rows in replayed().items():
            keep(name, rows)
    else:
        sys.exit(bool(check()))
