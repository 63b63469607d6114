"""kill -9 at random moments while verdicts are recorded, several commands at once, and a human who edits
meanwhile: nothing is torn or counted twice."""

import re
import threading
from pathlib import Path

import pytest
from drill import FAILING, FILES, PASSING, Drill, record
from steady import Steady
from warm import Warm


@pytest.mark.parametrize("number", [2, 8])
def test_f03_compares_at_once_lose_no_count(project: Drill, runs: Warm, number: int) -> None:
    project.lay()
    for done in (1, 2):
        for ended in runs.together(number, project.folder, "compare"):
            assert ended.exit_code == 1, ended.said
            assert "BK" not in ended.said
        standing = project.standing()
        assert [standing[id] for id in FAILING] == [(False, done * number)] * 2
        assert [standing[id] for id in PASSING] == [(True, 0)] * 2
    assert project.litter() == []


def edited_meanwhile(folder: Path, runs: Warm, old: str, new: str) -> tuple[str, str]:
    """What compare says, and what the file holds, when somebody edits it while the request is under way."""
    folder.mkdir()
    with Steady({"n": 1}, slow_from=0, seconds=0.4) as service:
        project = Drill(folder, service)
        project.lay()
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
        assert project.litter() == []
        others = {name: text for name, text in FILES.items() if name != "baselines/b.yaml"}
        assert project.standing(others)["a"] == (True, 0)
    return ended.said, path.read_bytes().decode()


def test_f06_edit_during_a_compare_is_kept(tmp_path: Path, runs: Warm) -> None:
    """An edited output gets no verdict; beside a comment the verdict is recorded."""
    printed, text = edited_meanwhile(tmp_path / "edited", runs, "body: {n: 2}", "body: {n: 3}")
    assert "baselines/b.yaml: changed while it was compared, so nothing was recorded" in printed
    assert text == record("b", 2).replace("body: {n: 2}", "body: {n: 3}").replace("\n", "\r\n")
    more = "and so on\r\n\r\n# more"
    printed, text = edited_meanwhile(tmp_path / "commented", runs, "since the first day", more)
    assert "changed while" not in printed
    assert "# what b says, and so on\r\n\r\n# more\r\n" in text
    assert re.findall(r"failure_count: (\d+)", text) == ["1"]


STYLES = {
    "comments": "\ufeff" + record("x", 1).replace("\n", "\r\n"),
    "no-line-end": record("x", 1).rstrip("\n"),
    "flow": "{id: x , baseline: {output: {status: 200,body: {n: 1}}},current: {input: {endpoint: /n},\n"
    "   execution: {type: http}},   metadata: {failure_count: 0 , 'last_passed':  null }}  # the end",
    "json": '{ "id": "x","baseline":{"output":{"status":200,\n"body":{"n":1}}} , "current":\t{"input":'
    '{"endpoint":"/n"},"execution":{"type":"http"}},\n\n"metadata":{"last_passed":null,"failure_count":0}}',
}


@pytest.mark.parametrize("style", STYLES)
def test_f04_record_changes_only_its_two_values(tmp_path: Path, runs: Warm, style: str) -> None:
    answer = 1 + len(style) % 2
    (tmp_path / "project").mkdir()
    before = STYLES[style]
    name = "baselines/x.json" if style == "json" else "baselines/x.yaml"
    with Steady({"n": answer}) as service:
        project = Drill(tmp_path / "project", service)
        project.lay({name: before})
        for _ in range(3):
            assert runs.run(project.folder, "compare").exit_code == answer - 1
    after = (project.folder / name).read_bytes().decode()
    if answer == 1:
        when = re.search(r"\"?'?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ'?\"?", after)
        assert when, after
        assert after == before.replace("null", when[0])
    else:
        assert after == re.sub(r"(failure_count\W+)0", r"\g<1>3", before)
