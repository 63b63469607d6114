"""promote: a prompt goes from draft to tested to ready where its uses and its cases allow it."""

import os
import shlex
from collections.abc import Sequence
from typing import get_args

from baselinekit.documents.languages import is_plain, language, yaml_quoted, yaml_scalar
from baselinekit.documents.splice import apply, is_simple
from baselinekit.documents.text import Splice, decode, mark, spliced
from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.evals import selection
from baselinekit.evals.promptrows import ALL
from baselinekit.frozen import frozen
from baselinekit.model.prompts import EvalRow, PromptFolder, Status, UsageRow
from baselinekit.model.values import Edit, Json, parse_time
from baselinekit.schema.records import place_problems
from baselinekit.store import atomic, promptlogs
from baselinekit.store.project import METAS, TEMPLATE, is_prompt_folder, read
from baselinekit.store.promptlogs import Log
from baselinekit.suites.promptfolders import names_of_all, sound_folder
from baselinekit.texts import many
from baselinekit.workflow.project import Project

_NEXT: dict[Status, Status] = {"draft": "tested", "tested": "ready"}
_USES: dict[Status, int] = {"draft": 3, "tested": 10}
"""So many are asked for, to leave this status behind."""

_KEYS = ("id", "title", "summary", "status", "version", "created", "updated", "description", "triggers")
"""The usual order of meta.yml: a key that is missing goes to its place."""

_MOST_NAMED = 5


@frozen
class PromotionGate:
    """One thing that is asked for: what there is, and where that is not enough, why and what to do."""

    name: str
    met: bool
    found: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.found}" + (f": {self.hint}" if self.hint else "")


@frozen
class PromotionStep:
    """From one status to the next one, with all that is asked for. `notes`: what is wrong with the logs."""

    folder: PromptFolder
    before: Status
    after: Status
    gates: tuple[PromotionGate, ...]
    notes: tuple[Problem, ...] = ()

    @property
    def unmet(self) -> list[PromotionGate]:
        return [gate for gate in self.gates if not gate.met]


def prompt_called(project: Project, name: str) -> PromptFolder:
    """The prompt that the operator means: by its folder, a file in it, its id or an alias."""
    path = selection.found_by_operator(project, name)
    folder = os.path.dirname(path) if os.path.isfile(os.path.join(project.root, path)) else path
    folder = "" if folder == os.curdir else folder
    full = os.path.join(project.root, folder)
    if not os.path.isdir(full) or not is_prompt_folder(os.listdir(full)):
        what = f"{name!r} is no folder, id or alias of a prompt"
        hint = (
            nearest(name, names_of_all(project.root))
            or f"a prompt's folder has a {TEMPLATE} and a {METAS[0]}"
        )
        raise InvalidInput(Problem("BK769", what, hint))
    return sound_folder(project.root, folder)


def next_step(project: Project, folder: PromptFolder) -> PromotionStep:
    """The step that a prompt would take, judged by its logs. Nothing is written. InvalidInput where there is
    no further one, or no status."""
    root = project.root
    before = _status(root, folder)
    if before == "ready":
        hint = "change `status` in the file by hand to take it back"
        at = Place(folder.meta_file)
        raise InvalidInput(
            Problem("BK765", f"{folder.id} is ready already: there is no further status", hint, at)
        )
    uses, evals = promptlogs.read_uses(root, folder.path), promptlogs.read_evals(root, folder.path)
    gates = [_enough_uses(folder, before, uses)]
    if before == "tested" and folder.meta.promotion.require_eval is not False:
        gates += [_has_cases(folder), _cases_passed(folder, evals)]
    return PromotionStep(folder, before, _NEXT[before], tuple(gates), (*uses.notes, *evals.notes))


# What is asked for.


def _enough_uses(folder: PromptFolder, before: Status, log: Log[UsageRow]) -> PromotionGate:
    least = folder.meta.promotion.min_uses
    least = _USES[before] if least is None else least
    sent = [row for row in log.known if row.sent]
    strictly = before == "tested"
    counted = [row for row in sent if (row.verified is True if strictly else row.verified is not False)]
    which = "found right" if strictly else "not found wrong"
    found = f"{len(counted):,} of at least {least:,} (sent, and {which} by verify.sh)"
    others = len(sent) - len(counted)
    if others:
        why = "found wrong or not checked" if strictly else "found wrong"
        found += f"; {others:,} more {'was' if others == 1 else 'were'} {why}"
    if len(counted) >= least:
        return PromotionGate("uses", True, found)
    hint = f"each attempt of a case is a use: {_command(folder)}"
    if strictly and folder.verify is None:
        hint = (
            "write verify.sh, which exits with 0 where an answer is right, or set `promotion: {min_uses: 0}`"
        )
    return PromotionGate("uses", False, found, hint)


def _has_cases(folder: PromptFolder) -> PromotionGate:
    if folder.eval_file is not None:
        return PromotionGate("eval file", True, os.path.basename(folder.eval_file))
    return PromotionGate("eval file", False, "there is none", f"write {folder.path}/eval.yml with `cases:`")


def _cases_passed(folder: PromptFolder, log: Log[EvalRow]) -> PromotionGate:
    """The most recent run decides, whatever those before it came to."""
    if not log.rows:
        return _unmet_run("the cases have never been run", _command(folder))
    row = log.rows[-1]
    why, hint = _does_not_count(folder, row)
    if row is None or why:
        told = f"the most recent row of {promptlogs.EVALS} does not count: {why}"
        return _unmet_run(told, hint or f"run all cases again: {_command(folder)}")
    passed = (
        f"{row.passed:,} of {row.total:,} passed in the most recent run ({row.ts or 'at an unknown time'})"
    )
    if row.all_passed and row.passed == row.total:
        return PromotionGate("eval run", True, passed)
    if row.failed_cases:
        passed += f"; not {_listed(row.failed_cases)}"
    return _unmet_run(passed, f"once that is mended: {_command(folder)}")


def _does_not_count(folder: PromptFolder, row: EvalRow | None) -> tuple[str, str]:
    """Why a row says nothing of the prompt as it is now, and what to do where that is not to run it again."""
    if row is None:
        return "it cannot be read, so nobody knows what it came to", ""
    if not row.total and not row.interrupted:
        return (
            "it is empty: no case was run",
            "" if folder.eval_file else f"write {folder.path}/eval.yml first",
        )
    if row.interrupted:
        return f"the run was ended early, after {many(row.total, 'case')}", ""
    if row.scope is None:
        return "it does not say what was run (another tool may have written it)", ""
    if row.content is None:
        return "the files of the prompt were changed while its cases ran", ""
    if row.graders is not None:
        return f"only {row.graders} graders were asked", ""
    if row.inputs:
        return f"inputs were typed in place of those of the cases ({_listed(row.inputs)})", ""
    if row.scope != ALL:
        names = [row.scope] if isinstance(row.scope, str) else row.scope
        return f"only some cases were run ({_listed(names)})", ""
    if row.content != folder.content:
        return f"the prompt or its cases have changed since (it was {row.content}, now {folder.content})", ""
    return "", ""


def _unmet_run(found: str, hint: str) -> PromotionGate:
    return PromotionGate("eval run", False, found, hint)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _command(folder: PromptFolder) -> str:
    return f"baselinekit run {shlex.quote(folder.id)}"


# The step, taken: `status` and `updated` of the description, and not a byte more.


def take(project: Project, step: PromotionStep, now: str) -> None:
    """Write it down. The file is read again under its lock: whoever was quicker is not overruled."""
    file = step.folder.meta_file

    def edit(body: str) -> str:
        if _stated(body, file) != step.before:
            what = f"the status is no longer {step.before}"
            hint = "somebody changed it in this moment: look at the file, and promote again"
            raise InvalidInput(Problem("BK766", what, hint, Place(file)))
        return promoted(body, file, step.after, now)

    atomic.edit_text(project.root, file, edit)


def promoted(body: str, file: str, status: Status, now: str) -> str:
    """The text of a description with another status, and the day of it."""
    written = language(file)
    paths = [("status",), ("updated",)]
    marks = mark(written.events(body), 0, [(key,) for key in _KEYS])
    chains = [marks.reach(path)[0] for path in paths]
    old = chains[1][-1].value if len(chains[1]) == 2 else ""
    moment = parse_time(now)
    day = now if moment is None or "T" in old else moment.date().isoformat()
    values = [str(status), day]
    edits = [Edit(path, value) for path, value in zip(paths, values, strict=True)]
    if all(is_simple(body, chain, edit) for chain, edit in zip(chains, edits, strict=True)):
        pairs = zip(chains, values, strict=True)
        return spliced(
            body, [_as_before(body, chain[-1].start, chain[-1].end, text) for chain, text in pairs]
        )
    return apply(body, edits, 0, written, _KEYS)


def _as_before(body: str, start: int, end: int, value: str) -> Splice:
    """In the quotes of the old value. A date that stood there bare is replaced by a bare one, which the same
    readers take for a date, as they did before."""
    old = body[start:end]
    if old[0] in ("'", '"'):
        return Splice(start, end, yaml_quoted(value, old[0]))
    return Splice(start, end, yaml_scalar(value) if is_plain(old) else value)


def _status(root: str, folder: PromptFolder) -> Status:
    """The status that the file states."""
    file = folder.meta_file
    if not os.path.lexists(os.path.join(root, file)):
        what, hint = (
            "there is no such file",
            "write one: id, title, summary, status, version, created, updated",
        )
        raise InvalidInput(Problem("BK767", what, hint, Place(file)))
    body = decode(read(root, file), file).body
    stated = _stated(body, file)
    known: tuple[Status, ...] = get_args(Status)
    for status in known:
        if status == stated:
            return status
    what = "there is no `status`" if stated is None else f"{stated!r} is no status"
    near = nearest(stated, known) if isinstance(stated, str) else ""
    problem = Problem("BK767", what, near or f"write one of {', '.join(known)}", at=("status",))
    raise InvalidInput(*place_problems(body, file, {0: [problem]}))


def _stated(body: str, file: str) -> Json:
    documents = language(file).load(body, file)
    return documents[0].get("status") if documents and isinstance(documents[0], dict) else None
