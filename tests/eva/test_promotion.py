"""promote: its gates, rows of the log that do not count, and what changes in the file."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.eva.logs import PromotionGate, PromotionStep, next_step, note, promoted, write_step
from baselinekit.files.languages import YAML
from baselinekit.model.prompts import EvalRow, Promotion, PromptFolder, PromptMeta, UsageRow

NOW = "2026-03-01T12:00:00Z"
CONTENT = "0123456789abcdef"
META = 'id: p\nstatus: {status}   # so far\nupdated: "2025-01-01"\n'


class Desk:
    """A prompt folder with its logs."""

    def __init__(self, root: Path):
        self.root = root
        (root / "prompts/p").mkdir(parents=True)
        self.meta = root / "prompts/p/meta.yml"

    @property
    def project(self) -> Project:
        return open_project(Operator(cwd=str(self.root)))

    def folder(
        self, status: str = "draft", evals: bool = True, verify: bool = True, **promotion: Any
    ) -> PromptFolder:
        if not self.meta.exists():
            self.meta.write_text(META.format(status=status))
        meta = PromptMeta("p", promotion=Promotion(**promotion))
        path = "prompts/p"
        files = (f"{path}/meta.yml", f"{path}/prompt.xml", f"{path}/eval.yml" if evals else None)
        script = f"{path}/verify.sh" if verify else None
        return PromptFolder(path, meta, *files, verify=script, content=CONTENT)

    def used(self, *verified: bool | None, sent: bool = True) -> None:
        for value in verified:
            note(str(self.root), "prompts/p", UsageRow(NOW, sent, value))

    def ran(self, **row: Any) -> None:
        usual = {"ts": NOW, "all_passed": True, "total": 4, "passed": 4, "scope": "all", "content": CONTENT}
        note(str(self.root), "prompts/p", EvalRow(**{**usual, **row}))

    def step(self, folder: PromptFolder) -> PromotionStep:
        return next_step(self.project, folder)

    def gate(self, name: str, folder: PromptFolder) -> PromotionGate:
        return next(gate for gate in self.step(folder).gates if gate.name == name)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_e20_draft_needs_uses_that_were_not_found_wrong(desk: Desk) -> None:
    desk.used(True, True, True, sent=False)
    desk.used(True, None, False)
    for count, met in ((2, False), (3, True)):
        (gate,) = desk.step(desk.folder()).gates
        found = f"{count} of at least 3 (sent, and not found wrong by verify.sh)"
        assert (gate.met, gate.found) == (met, found)
        desk.used(None)


def test_e20_tested_prompt_needs_uses_that_were_found_right(desk: Desk) -> None:
    desk.used(*[True] * 9, None, False)
    gate = desk.gate("uses", desk.folder("tested"))
    right = "9 of at least 10 (sent, and found right by verify.sh)"
    assert (gate.met, gate.found) == (False, right)
    unchecked = desk.gate("uses", desk.folder("tested", verify=False))
    assert (unchecked.met, "write verify.sh" in unchecked.hint) == (False, True)
    desk.used(True)
    assert desk.gate("uses", desk.folder("tested")).met
    for least, met in ((0, True), (10, True), (11, False)):
        assert desk.gate("uses", desk.folder("tested", min_uses=least)).met == met
    step = desk.step(desk.folder("tested", evals=False, require_eval=False))
    assert ([gate.name for gate in step.gates], step.unmet) == (["uses"], [])


def test_e7_e20_ready_needs_an_eval_file_and_a_run_that_passed(desk: Desk) -> None:
    desk.used(*[True] * 10)
    gates = desk.step(desk.folder("tested", evals=False)).gates
    assert {gate.name: gate.met for gate in gates} == {"uses": True, "eval file": False, "eval run": False}
    assert gates[1].hint == "write prompts/p/eval.yml with `cases:`"
    assert str(gates[2]) == "eval run: the cases have never been run: baselinekit run p"
    desk.ran()
    step = desk.step(desk.folder("tested"))
    assert (step.unmet, step.after) == ([], "ready")
    assert step.gates[2].found == f"4 of 4 passed in the most recent run ({NOW})"
    desk.ran(all_passed=False, passed=3, failed_cases=["large"])
    gate = desk.gate("eval run", desk.folder("tested"))
    assert (gate.met, gate.found) == (False, f"3 of 4 passed in the most recent run ({NOW}); not large")
    desk.ran(all_passed=True, total=4, passed=3)  # a row that contradicts itself
    assert not desk.gate("eval run", desk.folder("tested")).met


ROWS: list[tuple[dict[str, Any], str]] = [
    ({"scope": list("abcdefg")}, "only some cases were run (a, b, c, d, e and 2 more)"),
    ({"scope": ["a"], "graders": "code"}, "only code graders were asked"),
    ({"inputs": ["code", "file"]}, "inputs were typed in place of those of the cases (code, file)"),
    ({"interrupted": True, "total": 1}, "the run was ended early, after 1 case"),
    ({"content": None}, "the files of the prompt were changed while its cases ran"),
]


@pytest.mark.parametrize(("row", "why"), ROWS)
def test_e7_row_that_does_not_count_has_its_reason(desk: Desk, row: dict[str, Any], why: str) -> None:
    """Even if all passed in it, and the row before it would have been enough."""
    desk.ran()
    desk.ran(**row)
    gate = desk.gate("eval run", desk.folder("tested"))
    assert not gate.met
    assert gate.found.startswith(f"the most recent row of .eval.jsonl does not count: {why}")


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ("id: p\nstatus: [draft]\n", "BK767 prompts/p/meta.yml:2:9: the status is a list"),
        ("id: p\n", "BK767 prompts/p/meta.yml:1:1: the status is null: write one of draft, tested, ready"),
    ],
)
def test_e20_next_step_without_a_further_status_is_refused(desk: Desk, meta: str, message: str) -> None:
    folder = desk.folder()
    desk.meta.write_text(meta)
    with pytest.raises(InvalidInput) as error:
        desk.step(folder)
    assert str(error.value).startswith(message)


def test_e20_write_step_after_another_change_is_refused(desk: Desk) -> None:
    step = desk.step(desk.folder())
    text = META.format(status="tested")
    desk.meta.write_text(text)
    with pytest.raises(BaselinekitError, match=r"BK122 prompts/p/meta\.yml: the status is no longer draft"):
        write_step(desk.project, step, NOW)
    assert desk.meta.read_text() == text


TEXTS = [
    ("status: 'draft'\r\nupdated: '2025-01-01'\r\n", "status: 'tested'\r\nupdated: '2026-03-01'\r\n"),
    (
        '"status": "draft" # a\nupdated: 2025-01-01T00:00:00Z # b\n',
        f'"status": "tested" # a\nupdated: {NOW} # b\n',
    ),
    ("{status: draft, updated: 2025-01-01}\n", "{status: tested, updated: 2026-03-01}\n"),
    ("status: draft\nupdated:\ntitle: x\n", 'status: tested\nupdated: "2026-03-01"\ntitle: x\n'),
    (
        "# a\n---\nstatus: draft\nupdated: 2025-01-01\n...\n",
        "# a\n---\nstatus: tested\nupdated: 2026-03-01\n...\n",
    ),
]


@pytest.mark.parametrize(("before", "after"), TEXTS)
def test_e20_promoted_changes_the_status_and_the_day_only(before: str, after: str) -> None:
    assert promoted(before, "meta.yml", "tested", NOW) == after


plain = st.text("abcdefgh ijk-:#'\"{}é", min_size=1, max_size=12)


@given(
    st.dictionaries(st.sampled_from(["id", "title", "summary", "created", "notes", "triggers"]), plain),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_e20_promoted_keeps_every_other_byte(others: dict[str, str], has_day: bool, end: str) -> None:
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}  # {key}" for key, value in others.items()]
    lines.insert(len(lines) // 2, "status: draft  # s")
    day = ["updated: '2025-01-01'  # u"] if has_day else []
    before = end.join([*lines, *day, ""])
    after = promoted(before, "meta.yml", "tested", NOW)
    assert YAML.load(after, "meta.yml") == [{**others, "status": "tested", "updated": "2026-03-01"}]
    if has_day:
        assert after == before.replace("status: draft", "status: tested").replace("2025-01-01", "2026-03-01")
    else:
        kept = [line for line in after.split(end) if not line.startswith("updated:")]
        assert end.join(kept) == before.replace("status: draft", "status: tested")
