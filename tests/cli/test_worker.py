"""A worker as another process builds it: from words that were pickled, and nothing else of the caller's."""

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

from storehelp import write

from baselinekit.cli.options import RecordingOptions
from baselinekit.cli.worker import CompareWorker, order_of
from baselinekit.commands.chunks import Chunk, ChunkDone, JudgePolicy
from baselinekit.commands.judging import JudgedBaseline
from baselinekit.commands.leases import Lease
from baselinekit.commands.project import Operator, open_project
from baselinekit.commands.selection import IsWanted, Selection
from baselinekit.model.recipes import ModelUsage

ECHO = """\
id: e{n}
baseline: {{output: [{stored}, "{{{{greeting}}}}"]}}
current: {{input: [{n}, "{{{{greeting}}}}"], execution: {{type: echo}}}}
"""
PROMPT = """\
id: p{n}
baseline: {{output: "{n}\\n"}}
current: {{input: {{text: "{n}"}}, execution: {{type: prompt}}}}
"""
MODEL = "models: {default: {command: [wc, -l], prices: {input: 1, output: 1}}}\n"


def anew(value: Any) -> Any:
    """As it arrives in another process."""
    return pickle.loads(pickle.dumps(value))


def worker(folder: Path, recording: RecordingOptions | None = None, **said: Any) -> CompareWorker:
    project = open_project(Operator(str(folder), **said))
    order = order_of(project, recording or RecordingOptions(), jobs=2, resume=False, about="compare")
    return CompareWorker(anew(order), anew(JudgePolicy()))


def judged(at_work: CompareWorker, files: list[str], lease: Lease) -> ChunkDone[JudgedBaseline]:
    read, unfit = anew(at_work.read(files, anew(IsWanted(Selection()))))
    assert read.error is None
    assert unfit == []
    assert anew(at_work.prepare(read.entries)) == []
    done: ChunkDone[JudgedBaseline] = anew(at_work.judge(anew(Chunk(tuple(read.entries))), anew(lease)))
    return done


def test_a_worker_of_another_process_judges_by_the_same_words(tmp_path: Path) -> None:
    env = write(tmp_path, "said.env", "greeting=hello\n")
    files = [write(tmp_path, f"baselines/e{n}.yaml", ECHO.format(n=n, stored=n % 3)) for n in range(5)]
    at_work = worker(tmp_path, env_files=[str(tmp_path / env)])
    (tmp_path / env).unlink()  # what was read once is told, not read again
    done = judged(at_work, files, Lease(0.0))
    at_work.close()
    found = [one.result.outcome for one in done.judged if one]
    assert found == ["failed"] * 5, "what a variable stands for is not written into a stored output"
    stored = {one.result.id: [spot.path for spot in one.result.differences] for one in done.judged if one}
    assert stored["e1"] == [(1,)]
    assert stored["e4"] == [(0,), (1,)]
    assert [path.name for path in tmp_path.rglob(".baselinekit/*")] == [], "it writes nothing"


def test_a_worker_stops_after_the_failures_of_its_lease(tmp_path: Path) -> None:
    files = [write(tmp_path, f"baselines/e{n}.yaml", ECHO.format(n=n, stored=9)) for n in range(40)]
    at_work = worker(tmp_path, variables={"greeting": "hello"})
    done = judged(at_work, files, Lease(0.0, failures=3))
    at_work.close()
    assert 3 <= len([one for one in done.judged if one]) <= 4, "another one may have been under way"


def asks(folder: Path, count: int) -> list[str]:
    write(folder, "baselinekit.yaml", MODEL)
    return [write(folder, f"baselines/p{n}.yaml", PROMPT.format(n=n)) for n in range(count)]


def test_a_worker_asks_no_more_than_its_lease_and_tells_what_it_took(tmp_path: Path) -> None:
    files = asks(tmp_path, 5)
    at_work = worker(tmp_path, RecordingOptions(max_calls=20))
    spent = ModelUsage(calls=7, tokens=100, usd=Decimal("0.5"))
    done = judged(at_work, files, Lease(0.0, spent=spent, calls=10, tokens=100_000, usd=Decimal(2)))
    at_work.close()
    skipped = [one.result for one in done.judged if one and one.result.outcome == "skipped"]
    assert [result.code for result in skipped] == ["BK620"] * 2
    assert "10 of 20 calls are used" in skipped[0].reason
    assert done.gathered.spent is not None
    assert done.gathered.spent.calls == 3, "and not what others have taken before"


def test_what_is_to_be_kept_of_the_answers_comes_back_and_is_not_written(tmp_path: Path) -> None:
    files = asks(tmp_path, 3)
    at_work = worker(tmp_path, RecordingOptions(record_calls="tapes", cache=True))
    done = judged(at_work, files, Lease(0.0))
    assert [one.where for one in done.gathered.answers].count("record") == 3
    assert {one.where for one in done.gathered.answers} == {"journal", "cache", "record"}
    assert not (tmp_path / "tapes").exists()
    again = judged(at_work, files[:1], Lease(0.0))
    at_work.close()
    assert [one.where for one in again.gathered.answers if one.record] == ["record"], "the rest is known here"


def test_who_has_no_part_of_what_a_model_answers_at_once_leaves_it_to_another(tmp_path: Path) -> None:
    files = asks(tmp_path, 1)
    write(tmp_path, "baselinekit.yaml", MODEL.replace("prices", "concurrency: 2, prices"))
    at_work = worker(tmp_path)
    parts = [judged(at_work, files, Lease(0.0, number=number, of=3)).judged[0] for number in range(3)]
    at_work.close()
    assert [part and part.result.code for part in parts] == [None, None, "BK621"]
