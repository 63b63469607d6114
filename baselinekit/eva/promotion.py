"""promote: a prompt goes from draft to tested to ready if its uses and its cases allow it."""

import os
import shlex
from collections.abc import Sequence
from typing import get_args

from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, Place, Problem, suggest
from baselinekit.eva import logs
from baselinekit.eva.folders import load_valid_folder
from baselinekit.eva.logs import ALL, Log, read_rows
from baselinekit.files.edit import edited
from baselinekit.files.languages import is_plain, language
from baselinekit.files.text import decode, mark, reach
from baselinekit.model.prompts import EvalRow, PromptFolder, Status, UsageRow
from baselinekit.model.values import Edit, Json, parse_time
from baselinekit.schema import place_problems
from baselinekit.store import atomic
from baselinekit.store.project import METAS, TEMPLATE, is_prompt_folder, read
from baselinekit.structs import Struct
from baselinekit.suites.promptfolders import names_of_all
from baselinekit.values.changes import Hints
from baselinekit.values.texts import count_noun

_NEXT: dict[Status, Status] = {"draft": "tested", "tested": "ready"}
_USES: dict[Status, int] = {"draft": 3, "tested": 10}
"""How many uses are required to leave this status."""

_KEYS = ("id", "title", "summary", "status", "version", "created", "updated", "description", "triggers")
"""The usual order of keys in meta.yml: a missing key is inserted in its place."""

_MOST_NAMED = 5


class PromotionGate(Struct):
    """One requirement: whether it is met, what was found, and a hint where that is not enough."""

    name: str
    met: bool
    found: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.found}" + (f": {self.hint}" if self.hint else "")


class PromotionStep(Struct):
    """A step from one status to the next, with its requirements. `notes`: what is wrong with the logs."""

    folder: PromptFolder
    before: Status
    after: Status
    gates: tuple[PromotionGate, ...]
    notes: tuple[Problem, ...] = ()

    @property
    def unmet(self) -> list[PromotionGate]:
        return [gate for gate in self.gates if not gate.met]


def find_prompt(project: Project, name: str, path: str) -> PromptFolder:
    """Return the prompt at a path, which is its folder or a file in it. `name`: as the operator typed it."""
    folder = os.path.dirname(path) if os.path.isfile(os.path.join(project.root, path)) else path
    folder = "" if folder == os.curdir else folder
    full = os.path.join(project.root, folder)
    if not os.path.isdir(full) or not is_prompt_folder(os.listdir(full)):
        message = f"{name!r} is no folder, id or alias of a prompt"
        hint = (
            suggest(name, names_of_all(project.root))
            or f"a prompt's folder has a {TEMPLATE} and a {METAS[0]}"
        )
        raise InvalidInput(Problem("BK769", message, hint))
    return load_valid_folder(project.root, folder)


def next_step(project: Project, folder: PromptFolder) -> PromotionStep:
    """The next step of a prompt, judged by its logs. Nothing is written. InvalidInput if the prompt has no
    further step, or no status."""
    root = project.root
    before = _status(root, folder)
    if before == "ready":
        hint = "change `status` in the file by hand to take it back"
        at = Place(folder.meta_file)
        raise InvalidInput(
            Problem("BK765", f"{folder.id} is ready already: there is no further status", hint, at)
        )
    uses, evals = read_rows(root, folder.path, UsageRow), read_rows(root, folder.path, EvalRow)
    gates = [_enough_uses(folder, before, uses)]
    if before == "tested" and folder.meta.promotion.require_eval is not False:
        if folder.eval_file is not None:
            gates.append(PromotionGate("eval file", True, os.path.basename(folder.eval_file)))
        else:
            hint = f"write {folder.path}/eval.yml with `cases:`"
            gates.append(PromotionGate("eval file", False, "there is none", hint))
        gates.append(PromotionGate("eval run", *_last_run(folder, evals)))
    return PromotionStep(folder, before, _NEXT[before], tuple(gates), (*uses.notes, *evals.notes))


# The requirements.


def _enough_uses(folder: PromptFolder, before: Status, log: Log[UsageRow]) -> PromotionGate:
    minimum = folder.meta.promotion.min_uses
    minimum = _USES[before] if minimum is None else minimum
    sent = [row for row in log.rows if row is not None and row.sent]
    if before == "tested":
        counted, uncounted = "found right", "found wrong or not checked"
        counting = [row for row in sent if row.verified is True]
    else:
        counted, uncounted = "not found wrong", "found wrong"
        counting = [row for row in sent if row.verified is not False]
    message = f"{len(counting):,} of at least {minimum:,} (sent, and {counted} by verify.sh)"
    if more := len(sent) - len(counting):
        message += f"; {more:,} more {'was' if more == 1 else 'were'} {uncounted}"
    if len(counting) >= minimum:
        return PromotionGate("uses", True, message)
    hint = f"each attempt of a case is a use: {_command(folder)}"
    if before == "tested" and folder.verify is None:
        hint = "write verify.sh, which exits with 0 if an answer is right, or set `promotion: {min_uses: 0}`"
    return PromotionGate("uses", False, message, hint)


def _last_run(folder: PromptFolder, log: Log[EvalRow]) -> tuple[bool, str, str]:
    """Return whether the cases passed, what was found, and a hint. Only the most recent run decides, whatever
    the outcome of those before it."""
    if not log.rows:
        return False, "the cases have never been run", _command(folder)
    row = log.rows[-1]
    if reason := _does_not_count(folder, row):
        message = f"the most recent row of {logs.EVALS} does not count: {reason}"
        return False, message, f"run all cases again: {_command(folder)}"
    assert row is not None
    message = (
        f"{row.passed:,} of {row.total:,} passed in the most recent run ({row.ts or 'at an unknown time'})"
    )
    if row.all_passed and row.passed == row.total:
        return True, message, ""
    failed = f"; not {_listed(row.failed_cases)}" if row.failed_cases else ""
    return False, message + failed, f"once that is fixed: {_command(folder)}"


def _does_not_count(folder: PromptFolder, row: EvalRow | None) -> str:
    """The reason why a row is no evidence about the prompt as it is now."""
    if row is None:
        return "it cannot be read, so its outcome is unknown"
    if row.interrupted:
        return f"the run was ended early, after {count_noun(row.total, 'case')}"
    if not row.total:
        return "it is empty: no case was run"
    if row.scope is None:
        return "it does not say what was run (another tool may have written it)"
    if row.content is None:
        return "the files of the prompt were changed while its cases ran"
    if row.graders is not None:
        return f"only {row.graders} graders were asked"
    if row.inputs:
        return f"inputs were typed in place of those of the cases ({_listed(row.inputs)})"
    if row.scope != ALL:
        names = [row.scope] if isinstance(row.scope, str) else row.scope
        return f"only some cases were run ({_listed(names)})"
    if row.content != folder.content:
        return f"the prompt or its cases have changed since (it was {row.content}, now {folder.content})"
    return ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _command(folder: PromptFolder) -> str:
    return f"baselinekit run {shlex.quote(folder.id)}"


# Taking the step: only `status` and `updated` of the description change, and not a byte more.


def write_step(project: Project, step: PromotionStep, now: str) -> None:
    """Write the step. The file is read again under its lock, so that a change made meanwhile is not lost."""
    file = step.folder.meta_file

    def edit(body: str) -> str:
        if _stated(body, file) != step.before:
            message = f"the status is no longer {step.before}"
            hint = "somebody changed it in this moment: look at the file, and promote again"
            raise InvalidInput(Problem("BK766", message, hint, Place(file)))
        return promoted(body, file, step.after, now)

    atomic.edit_text(project.root, file, edit)


def promoted(body: str, file: str, status: Status, now: str) -> str:
    """The text of a description with the new status and the date of the change."""
    form = language(file)
    nodes, missing = reach(mark(form.events(body)), 0, ("updated",))
    old = "" if missing else nodes[-1].value
    time = parse_time(now)
    day = now if time is None or "T" in old else time.date().isoformat()
    edits = [Edit(("status",), str(status)), Edit(("updated",), day)]
    text = edited(body, edits, form, hints=Hints(siblings=_KEYS))
    if not old or nodes[-1].style or is_plain(old):
        return text
    # A date without quotes is replaced by one without quotes, so that readers still take it for a date.
    node = reach(mark(form.events(text)), 0, ("updated",))[0][-1]
    return text[: node.start] + day + text[node.end :]


def _status(root: str, folder: PromptFolder) -> Status:
    """Read the status in the file of a prompt."""
    file = folder.meta_file
    body = decode(read(root, file), file).body
    stated = _stated(body, file)
    statuses: tuple[Status, ...] = get_args(Status)
    for status in statuses:
        if status == stated:
            return status
    message = "there is no `status`" if stated is None else f"{stated!r} is not a status"
    near = suggest(stated, statuses) if isinstance(stated, str) else ""
    problem = Problem("BK767", message, near or f"write one of {', '.join(statuses)}", at=("status",))
    raise InvalidInput(*place_problems(body, file, {0: [problem]}))


def _stated(body: str, file: str) -> Json:
    documents = language(file).load(body, file)
    return documents[0].get("status") if documents and isinstance(documents[0], dict) else None
