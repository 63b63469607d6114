"""kill -9 at random moments while verdicts are recorded, several commands at once, and a human who edits
meanwhile: nothing is torn or counted twice."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from drill import FAILING, FILES, HOLD, PASSING, Drill, record
from steady import Steady
from warm import Warm

from baselinekit.errors import NotRecorded
from baselinekit.store.atomic import lock
from baselinekit.store.reading import load
from baselinekit.store.record import Mark, record_all


@pytest.mark.parametrize("number", [2, 4, 8])
def test_f03_compare_several_at_once_lose_no_count(drill: Drill, runs: Warm, number: int) -> None:
    drill.lay()
    for done in (1, 2):
        for ended in runs.together(number, drill.folder, "compare"):
            assert ended.exit_code == 1, ended.said
            assert "BK" not in ended.said
        standing = drill.standing()
        assert [standing[id] for id in FAILING] == [(False, done * number)] * 2
        assert [standing[id] for id in PASSING] == [(True, 0)] * 2
    assert drill.litter() == []


def test_f03_lock_held_by_another_process_is_an_error(drill: Drill) -> None:
    """The error names the lock, the verdict stays, and the owner's death is enough to go on."""
    drill.lay()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(drill.folder)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with (
            pytest.raises(NotRecorded, match=r"BK121 .* held by another process"),
            lock(str(drill.folder), "baselines/b.yaml", wait=lambda: 0.1),
        ):
            pass
    finally:
        holder.kill()
        holder.communicate()
    (found,) = load(["baselines/b.yaml"], str(drill.folder))
    record_all([Mark(found.source, False)], str(drill.folder), "2024-01-01T00:00:00Z")
    assert drill.standing()["b"].count == 1


def edited_meanwhile(folder: Path, runs: Warm, old: str, new: str) -> tuple[str, str]:
    """The output of compare and the file, when a person edits the file while the request is under way."""
    folder.mkdir()
    with Steady({"n": 1}, slow_from=0, seconds=0.4) as service:
        drill = Drill(folder, service)
        drill.lay()
        path = folder / "baselines/b.yaml"

        def edit() -> None:
            while service.asked < 4 and not stop.wait(0.002):
                pass
            path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))

        stop = threading.Event()
        human = threading.Thread(target=edit)
        human.start()
        ended = runs.run(folder, "compare")
        stop.set()
        human.join()
        assert ended.exit_code == 1, ended.said
        assert drill.litter() == []
        others = {name: text for name, text in FILES.items() if name != "baselines/b.yaml"}
        assert drill.standing(others)["a"] == (True, 0)
    return ended.said, path.read_bytes().decode()


def test_f06_compare_edited_case_is_left_alone(tmp_path: Path, runs: Warm) -> None:
    output, text = edited_meanwhile(tmp_path / "project", runs, "body: {n: 2}", "body: {n: 3}")
    assert "baselines/b.yaml: changed while it was compared, so nothing was recorded" in output
    assert text == record("b", 2).replace("body: {n: 2}", "body: {n: 3}").replace("\n", "\r\n")


def test_f06_compare_added_comment_is_kept_and_verdict_recorded(tmp_path: Path, runs: Warm) -> None:
    more = "and so on\r\n\r\n# more"
    output, text = edited_meanwhile(tmp_path / "project", runs, "since the first day", more)
    assert "changed while" not in output
    assert "# what b says, and so on\r\n\r\n# more\r\n" in text
    assert re.findall(r"failure_count: (\d+)", text) == ["1"]


STYLES = {
    "comments": record("x", 1),
    "line-ends-of-windows": record("x", 1).replace("\n", "\r\n"),
    "mark-at-the-beginning": "\ufeff" + record("x", 1),
    "no-line-end": record("x", 1).rstrip("\n"),
    "flow": "{id: x , baseline: {output: {status: 200,body: {n: 1}}},current: {input: {endpoint: /n},\n"
    "   execution: {type: http}},   metadata: {failure_count: 0 , 'last_passed':  null }}  # the end",
    "json": '{ "id": "x","baseline":{"output":{"status":200,\n"body":{"n":1}}} , "current":\t{"input":'
    '{"endpoint":"/n"},"execution":{"type":"http"}},\n\n"metadata":{"last_passed":null,"failure_count":0}}',
}


@pytest.mark.parametrize("answer", [1, 2])
@pytest.mark.parametrize("style", STYLES)
def test_f04_compare_changes_only_the_two_values(tmp_path: Path, runs: Warm, style: str, answer: int) -> None:
    (tmp_path / "project").mkdir()
    before = STYLES[style]
    name = "baselines/x.json" if style == "json" else "baselines/x.yaml"
    with Steady({"n": answer}) as service:
        drill = Drill(tmp_path / "project", service)
        drill.lay({name: before})
        for _ in range(3):
            assert runs.run(drill.folder, "compare").exit_code == answer - 1
    after = (drill.folder / name).read_bytes().decode()
    if answer == 1:
        when = re.search(r"\"?'?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ'?\"?", after)
        assert when, after
        assert after == before.replace("null", when[0])
    else:
        assert after == re.sub(r"(failure_count\W+)0", r"\g<1>3", before)
