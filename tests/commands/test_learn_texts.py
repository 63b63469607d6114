"""refresh --learn of a text: whatever varies in it is learnt, and a word or a number beside it that is
another one once, and the same in every answer, is told. Cases with known answers, and how often it errs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from learning_desk import desk_of as desk_of_body, learn, made_up, passes
from ticking import START, Ticking, iso

DAY = 86_400.0


def desk_of(folder: Path, stored: str, answer: Callable[[float, int], Any]) -> Ticking:
    return desk_of_body(folder, answer, json.dumps(stored))


Part = Callable[[float, int], str]


FORMS = {
    "ini": "# state\nstated={stated}\nvaries={varies}\nsame=1\n",
    "one line": "stated {stated}, varies {varies}, and more\n",
    "csv": "name,stated,varies\nfirst,{stated},{varies}\nsecond,1,2\n",
    "log": "[{varies}] INFO started {stated} well\n[{varies}] INFO done, and ready to take any requests\n",
}
VARIES: dict[str, Part] = {
    "moment": lambda now, number: iso(now),
    "counter": lambda now, number: str(100 + 7 * number),
    "fraction": lambda now, number: f"{0.25 + number / 8:.4f}",
}
STATED = [("12", "13"), ("v1.2.3", "v1.3.0"), ("blue", "blue and green, both of them")]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_learn_of_a_text_reports_a_changed_part_beside_what_varies(tmp_path: Path, form: str) -> None:
    hidden, lost = [], []
    for kind, varies in VARIES.items():
        for number, (before, after) in enumerate(STATED):
            stored = FORMS[form].format(stated=before, varies=varies(START - DAY, 77))
            desk = desk_of(tmp_path / f"{kind}-{number}", stored, answers(form, after, varies))
            hidden += [(kind, before)] if not learn(desk).lesson.refusals or passes(desk) else []
            desk.service["/x"] = answers(form, before, varies)
            learn(desk)
            lost += [(kind, before)] if not passes(desk) else []
    assert (hidden, lost) == ([], [])


def answers(form: str, stated: str, varies: Part) -> Callable[[float, int], Any]:
    return lambda now, number: FORMS[form].format(stated=stated, varies=varies(now, number))


def test_learn_of_a_text_after_a_restart_learns_ids_moments_and_counters(tmp_path: Path) -> None:
    """After a restart: a process number, an id of the run, the time of its start, memory as it is then."""

    def state(pid: int, run: str, start: str, rss: int, ops: int, hits: int) -> str:
        numbers = f"used_memory_rss:{rss}\nops_total:{ops}\nbytes_in:{ops * 7}\ncache_hits:{hits}\n"
        return f"# Server\nprocess_id:{pid}\nrun_id:{run}\nstarted:{start}\nport:6379\n{numbers}"

    now_run = made_up(5).replace("-", "")
    desk = desk_of(
        tmp_path,
        state(4711, made_up(4).replace("-", ""), "2024-01-15T10:20:00Z", 12476416, 17, 6),
        lambda now, number: state(77, now_run, iso(START - 60), 12279808, 17 + number, 2),
    )
    plan = learn(desk)
    assert not plan.lesson.refusals
    assert passes(desk)
    text = (desk.folder / "baselines/x.yaml").read_text()
    assert "port:6379" in text
    desk.service["/x"] = lambda now, number: state(9, made_up(8).replace("-", ""), iso(now), 1, 2, 3).replace(
        "6379", "6380"
    )
    assert not passes(desk)


def test_learn_of_a_text_names_the_part_that_changed(tmp_path: Path) -> None:
    desk = desk_of(
        tmp_path, "visits: 5\nprice: 12\n", lambda now, number: f"visits: {6 + number}\nprice: 13\n"
    )
    plan = learn(desk)
    assert [item.message for item in plan.lesson.refusals] == [
        'the part after "price" changed from "12" (as stored) to "13" (in all 3 answers)'
    ]
    assert plan.lesson.volatile[0].proposal.text == "visits: <<any_integer>>\nprice: 12\n"


def row(visits: int, hits: int, limit: int) -> str:
    """One long line of fields, as statistics are written."""
    return (
        f"web,FRONT,,,{visits},{hits},{limit}," + ",".join("0" for _ in range(150)) + f",{visits * 3},,end\n"
    )


def test_learn_of_a_long_line_keeps_its_placeholders(tmp_path: Path) -> None:
    """A line of hundreds of words: what its placeholders stand for is found in the answer, so that a field
    beside them is learnt or told by itself."""
    desk = desk_of(tmp_path, row(5, 6, 900), lambda now, number: row(6 + number, 7, 900))
    learn(desk)
    file = desk.folder / "baselines/x.yaml"
    desk.service["/x"] = lambda now, number: row(1 + number, 3 + number, 900)
    plan = learn(desk)
    assert not plan.lesson.refusals
    assert passes(desk)
    assert "\\<<" not in file.read_text()
    desk.service["/x"] = lambda now, number: row(1 + number, 3 + number, 901)
    plan = learn(desk)
    assert [place.message for place in plan.lesson.refusals] == [
        'a part of it changed from "900" (as stored) to "901" (in all 3 answers)'
    ]
    assert not passes(desk)
