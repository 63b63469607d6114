"""What to type next. The verb hangs on what a result is of: a baseline is compared, and refreshed by its id;
a regression record among evals is run, and refreshed by its file; and what a case expects that has no
baseline only people can say. Every form of report and every command asks here."""

import shlex
from collections.abc import Callable, Sequence

from baselinekit.escape import one_line
from baselinekit.model.results import UNDECIDED, Result

Place = Callable[[str], str]
"""How a file of the project is called from where the command will be typed."""

_MOST_NAMED = 3
_MOST_FILES = 20


def _as_it_is(file: str) -> str:
    return file


def renewable(results: Sequence[Result]) -> list[Result]:
    """Those that failed with an output that can be taken for right."""
    return [
        result
        for result in results
        if result.outcome == "failed" and result.verdict not in UNDECIDED and _has_baseline(result)
    ]


def renewal(results: Sequence[Result], place: Place = _as_it_is) -> str:
    """The command that takes what came for right, from now on."""
    if len(results) > _MOST_NAMED and all(result.case is None for result in results):
        return "baselinekit refresh --all-failed"
    named = [result.id if result.case is None else place(result.file) for result in results]
    return typed("refresh", *list(dict.fromkeys(named))[:_MOST_FILES])


def seeing(
    results: Sequence[Result], paths: Sequence[str] | None = None, place: Place = _as_it_is
) -> list[str]:
    """The commands that show what did not pass, at length. `paths`: what was named to the command whose
    results these are. Who reads a report of them does not know that: there the files are named."""
    compared = [result for result in results if result.case is None]
    tried = [result for result in results if result.case is not None]
    commands = (
        [typed("compare", *(paths or ()), *_ids([result.id for result in compared]), "-v")]
        if compared
        else []
    )
    if tried:
        files = list(dict.fromkeys(place(result.file) for result in tried))
        where = (files if len(files) <= _MOST_NAMED else ()) if paths is None else paths
        commands.append(typed("run", *where, *_ids([result.id for result in tried]), "-v"))
    return commands


def checking(
    written: Sequence[tuple[str, str]],
    baselines: Sequence[str],
    evals: Sequence[str],
    more: Sequence[str] = (),
    place: Place = _as_it_is,
) -> list[str]:
    """The commands that show whether what was just written passes, by its ids and files. `baselines` and
    `evals`: the folders in which `compare` and `run` look by themselves; what lies in neither is named."""
    known = [(id, file) for id, file in written if lies_in(file, baselines)]
    cases = [pair for pair in written if pair not in known and lies_in(pair[1], evals)]
    others = [pair for pair in written if pair not in known and pair not in cases]
    files = list(dict.fromkeys(place(file) for _, file in others))[:_MOST_FILES]
    commands = [typed("compare", *_ids([id for id, _ in known]), *more)] if known else []
    commands += [typed("compare", *files, *more)] if files else []
    return commands + ([typed("run", *_ids([id for id, _ in cases]))] if cases else [])


def typed(*words: str) -> str:
    """A command as a shell takes it, and as a terminal and a page may show it."""
    return one_line(shlex.join(["baselinekit", *words]))


def lies_in(file: str, folders: Sequence[str]) -> bool:
    """Whether a file is found by who looks into these folders."""
    return any(folder in ("", ".") or file.startswith(f"{folder}/") for folder in _plain(folders))


def _has_baseline(result: Result) -> bool:
    return result.case is None or (result.case.eval_type == "regression" and bool(result.differences))


def _ids(ids: Sequence[str]) -> list[str]:
    """Too many ids are no help: then all is looked at."""
    return [word for id in ids for word in ("--id", id)] if len(ids) <= _MOST_NAMED else []


def _plain(folders: Sequence[str]) -> list[str]:
    return [folder.removeprefix("./").rstrip("/") for folder in folders]
