"""`baselinekit run` of cases that a mock answers and a program judges, beside only starting the programs: the
same judges, told as much, as many at once."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Ended, Engine, Say, Times, about, in_turn, median, whole
from benchmarks.replay import command
from benchmarks.results import Found, Note, Row, Scale, Versus

JOBS = "4"
PEER = "only starting the judges"
RUN = "run"
JUDGE = """\
import json, sys

def evaluate(data: dict) -> dict:
    candidate = data.get("candidate_answer", "")
    hits, misses = [], []
    for kw in ["async", "await"]:
        (hits if kw in candidate else misses).append(f"Keyword '{kw}'")
    return {
        "score": len(hits) / max(len(hits) + len(misses), 1),
        "hits": hits, "misses": misses
    }

print(json.dumps(evaluate(json.loads(sys.stdin.read()))))
"""
ANSWER = "An async function may await another one."


def rows(scale: Scale, say: Say) -> Found:
    count, fewer = scale.pick(10, 2_000), scale.pick(5, 500)
    rounds = min(3, scale.rounds)
    times = timed(count, rounds, say)
    what = f"{count:,} cases, a mock and a judge each"
    short = f"{count:,} eval cases with a mock target and a judge's program each"
    yield Versus(times).row(what, RUN, PEER, goal=1.15, short=short)
    yield Versus(times, "wall").row(what, RUN, PEER)
    less = timed(fewer, 1, say, only_run=True)
    grown = (median(times[RUN], "peak") - median(less[RUN], "peak")) / (count - fewer)
    yield Row("memory a case, above the base", grown, of="bytes", goal=16_000)
    yield Row(f"most memory in a run of {count:,}", median(times[RUN], "peak"), of="bytes")
    yield Note(f"Processor time includes that of the judges, Python programs of a few lines; {JOBS} at once.")


def timed(count: int, rounds: int, say: Say, only_run: bool = False) -> Times:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, count)
        engines = [running(root, count), *([] if only_run else [starting(root, count)])]
        return in_turn(engines, rounds, about(say, f"{count:,} cases"))


def write(root: Path, count: int) -> None:
    """A project with one file of cases."""
    (root / "evals").mkdir()
    (root / "check.py").write_text(JUDGE)
    (root / "baselinekit.yaml").write_text(f"commands: {{check: [{sys.executable}, check.py]}}\n")
    cases = [
        {"id": f"case-{number}", "input": {"type": "prompt", "content": f"Explain await, answer {number}."}}
        for number in range(count)
    ]
    suite = {
        "metadata": {"id": "many"},
        "config": {"execution": {"type": "mock", "response": ANSWER}},
        "grader": {"type": "code", "config": {"method": "code_judge", "script": ["check"]}},
        "test_cases": cases,
    }
    (root / "evals/many.json").write_text(json.dumps(suite))


def running(root: Path, count: int) -> Engine:
    def right(ended: Ended) -> bool:
        return ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")

    argv = [*command(), "run", "-q", "-j", JOBS, "--no-record", "evals/many.json"]
    return whole(RUN, argv, right, cwd=str(root), env={"CI": ""})


def starting(root: Path, count: int) -> Engine:
    argv = [sys.executable, "-m", "benchmarks.judges", str(root), str(count), JOBS]
    return whole(PEER, argv, lambda ended: ended.output.strip() == str(count))


def start_all(root: str, count: int, jobs: int) -> int:
    """How many of the judges were content."""
    message = {"role": "user", "content": "Explain await."}
    told = {"question": "Explain await.", "expected_outcome": "", "candidate_answer": ANSWER}
    stdin = json.dumps({**told, "input_messages": [message], "output_messages": [message]}).encode()

    def start(number: int) -> bool:
        argv = [sys.executable, "check.py"]
        ran = subprocess.run(argv, input=stdin, capture_output=True, cwd=root, check=False)
        return bool(json.loads(ran.stdout)["score"] == 1)

    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(start, range(count)))


if __name__ == "__main__":
    sys.stdout.write(f"{start_all(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))}\n")
