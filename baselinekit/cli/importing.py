"""What `baselinekit capture` does with several requests: with URLs that are typed, and with files of other
tools. What can be captured is, and what cannot is told with its line."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import click

from baselinekit.cli import capturing, recipes, screen
from baselinekit.cli.capture import DraftOptions, HttpOptions
from baselinekit.cli.clients import real_context, with_models, with_progress
from baselinekit.cli.options import parse_pairs, project_of, read_text
from baselinekit.cli.recipes import parse_rules
from baselinekit.cli.requests import http_id, open_typed, with_files
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile
from baselinekit.kinds.table import kind_of
from baselinekit.model.values import Json
from baselinekit.store.project import project_root
from baselinekit.store.reading import parse_record
from baselinekit.store.writing import declare_variables, state_base_url
from baselinekit.texts import many
from baselinekit.trust import check_inside
from baselinekit.variables import names_in
from baselinekit.workflow.capture import CapturedTogether, group_of
from baselinekit.workflow.importing import (
    ImportSummary,
    capture_many,
    holds_requests,
    read_requests,
    summarize,
    worst_of,
)
from baselinekit.workflow.project import Project

Files = dict[str, ImportedFile]


def capture_http(options: HttpOptions) -> int:
    """One request, or several URLs that share their method and their options."""
    method, urls = _parted(options.words)
    if len(urls) < 2:
        return capturing.capture_http(options)
    if options.new.id:
        what = f"--id names one baseline, and these are {len(urls)}"
        raise InvalidInput(Problem("BK508", what, "leave it out: each is named by its URL"))
    rules = parse_rules(options.new.rules)

    def read() -> tuple[Project, Files]:
        files: Files = {}
        project, _ = open_typed(replace(options, words=(*method, urls[0])))
        for url in urls:
            request = open_typed(replace(options, words=(*method, url)))[1]
            current = request.current
            project = project.naming(str(current["execution"].get("base_url", "")))  # by the operator
            notes = tuple(f"left out: {what}" for what in request.dropped)
            files[url] = ImportedFile((DraftRecipe(http_id(current), current, 0, notes=notes),))
        return project, files

    def record(draft: DraftRecipe, project: Project) -> dict[str, Any]:
        record = options.new.record(draft.id, draft.current, rules)
        group = options.new.group or group_of(parse_record(record, project.root), project)
        return record | {"current": with_files(draft.current, group, project)}

    return ManyCaptures(options, options.new.group, read, record).run()


def _parted(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """`[METHOD] URL URL …`: what does not look so is for a single request to refuse."""
    first, rest = words[0], list(words[1:])
    method = [first] if rest and first.isalpha() and first.isupper() else []
    urls = rest if method else list(words)
    if len(urls) > 1 and all("://" in url or url.startswith("/") for url in urls):
        return method, list(dict.fromkeys(urls))
    return method, [" ".join(urls)]


def capture_from(options: DraftOptions) -> int:
    """Files of other tools, each told by its content; the other paths hold recipes of ours."""
    params = parse_pairs("--param", options.params, "NAME=VALUE")
    from baselinekit.cli.casecapture import capture_from_cases, told_apart  # evals, which no request needs

    prompts, others = told_apart(options.paths, project_of(options.project))
    if prompts:
        if others:
            what = f"{prompts[0]} is a prompt folder, and {others[0]} is none"
            raise InvalidInput(Problem("BK508", what, "capture them by two commands"))
        return capture_from_cases(options)
    if options.cases:
        what = f"--case names a case of a prompt folder, and {others[0]} is none"
        raise InvalidInput(Problem("BK508", what, "leave it out"))
    texts, paths = {}, []
    for path in options.paths:
        text = _text(path)
        if text is not None and holds_requests(path, text):
            texts[path] = text
        else:
            paths.append(path)

    def read() -> tuple[Project, Files]:
        project = project_of(options.project)
        choices = ImportChoices(
            base_url=project.override_base_url or project.base_url,
            unsafe=options.unsafe,
            hosts=options.hosts,
            types=options.types,
            params=params,
            known=frozenset((*project.scope.values, *project.scope.secrets)),
            read=lambda name: recipes.content(f"@{name}"),
            beside=_text_beside,
        )
        return project, {path: read_requests(path, text, choices) for path, text in texts.items()}

    def record(draft: DraftRecipe, project: Project) -> dict[str, Any]:
        return _record(draft, options, project)

    code = ManyCaptures(options, options.group, read, record).run() if texts else 0
    return capturing.capture_drafts(replace(options, paths=tuple(paths))) if paths else code


def _text(path: str) -> str | None:
    """What stands in a file, or comes from standard input; None where the reader of baselines has to say what
    is wrong with it."""
    if path != "-" and not os.path.isfile(path):
        return None
    try:
        return read_text("capture from", path, "a file of requests")
    except InvalidInput as error:
        if any(problem.code == "BK106" for problem in error.problems):
            hint = "take out of it what is not to be asked, and give the parts"
            raise InvalidInput(*(replace(problem, hint=hint) for problem in error.problems)) from None
        if path == "-":
            raise
        return None


def _text_beside(document: str, way: str) -> str:
    """A file that a document refers to, from its folder or, in a git repository, from all of that."""
    folder = os.path.realpath("." if document == "-" else os.path.dirname(document) or ".")
    target = os.path.realpath(os.path.join(folder, way))
    check_inside(os.path.realpath(project_root(None, folder)), target, way)
    if not os.path.isfile(target):
        raise InvalidInput(Problem("BK111", "there is no such file", "mend the reference"))
    return read_text("capture from", target, "a JSON or YAML file")


def _record(draft: DraftRecipe, options: DraftOptions, project: Project) -> dict[str, Any]:
    """The new record as far as the file and the command line say it. Files that it sends are named from
    where its own file will stand."""
    tags = list(dict.fromkeys([*options.tags, *draft.tags]))
    record: dict[str, Any] = {"id": draft.id} | ({"name": draft.name} if draft.name else {})
    record |= {"current": draft.current, "comparison": {}, "metadata": {"tags": tags} if tags else {}}
    if "files" in draft.current["input"] or {"verify", "cert"} & draft.current["execution"].keys():
        group = options.group or group_of(parse_record(record, project.root), project)
        record["current"] = with_files(draft.current, group, project)
    return record


class ManyCaptures:
    """A capture of several requests, from what is asked to what is told of it."""

    def __init__(
        self,
        options: HttpOptions | DraftOptions,
        group: str | None,
        read: Callable[[], tuple[Project, Files]],
        record: Callable[[DraftRecipe, Project], dict[str, Any]],
    ):
        self._options, self._read, self._record = options, read, record
        self._wanted = replace(capturing.capture_options(options.storing, group), jobs=options.many.jobs)
        self._silent = options.storing.is_silent

    def run(self) -> int:
        summary = self._summary()
        if not self._options.many.dry_run and self._is_configured(summary):
            summary = self._summary()
        if not summary.new:
            if summary.known and summary.problems and not self._silent:
                screen.line(f"{summary.known:,} captured already")
            raise self._nothing(summary)
        if self._options.many.dry_run:
            self._show(summary)
            found = CapturedTogether((), [])
        else:
            found = self._captured(summary)
        errors = [*summary.problems, *found.errors, *capturing.refusals(found.done)]
        capturing.end_if_interrupted(found, errors)
        if errors:
            raise worst_of(errors)
        return 0

    def _summary(self) -> ImportSummary:
        project, files = self._read()
        summary = summarize(project, files, lambda draft: self._record(draft, project), self._wanted)
        if self._options.allow:
            asked = [new.draft.current for _, _, new in summary.new]
            for url in capturing.unnamed_origins(project, asked):
                summary = replace(summary, project=summary.project.allowing(url))
        return summary

    def _is_configured(self, summary: ImportSummary) -> bool:
        """Whether the configuration was written first, where the operator wants that."""
        project, chosen = summary.project, self._options.many.write_config
        base, given = summary.shared_base(), self._options.project.secrets
        if chosen and not project.config.base_url:
            base = base or project.override_base_url
        names = [name for name in _undeclared(summary) if chosen or name in given]
        written = []
        if base and (chosen or self._is_confirmed(base, sum(summary.sharing(base)))):
            written.append(f"base_url: {base} in {state_base_url(project.root, project.config_file, base)}")
        if names:
            stated = {name: _declared(name, summary) for name in names}
            file = declare_variables(project.root, project.config_file, stated)
            written.append(f"variables: {', '.join(names)} in {file}")
        if not self._silent:
            for text in written:
                screen.line(screen.safe_line(f"wrote {text}"))
        return bool(written)

    def _is_confirmed(self, base: str, count: int) -> bool:
        if self._silent or not screen.can_ask():
            return False
        question = f"{many(count, 'request')} go to {base}: write it to baselinekit.yaml as base_url?"
        return bool(click.confirm(screen.safe_line(question), default=True))

    def _nothing(self, summary: ImportSummary) -> BaselinekitError:
        if summary.problems:
            return worst_of(summary.problems)
        if summary.known:
            what = f"{many(summary.known, 'request')} there, and each is captured already"
            return InvalidInput(
                Problem("BK520", what, "to accept new answers: baselinekit refresh --all-failed")
            )
        if summary.unsafe:
            what = f"only requests that may write stand there ({summary.unsafe})"
            return NothingSelected(Problem("BK509", what, "--unsafe sends them"))
        hint = "choose others with --host and --type, such as --type text"
        return NothingSelected(Problem("BK509", "no answer there is of the types that are chosen", hint))

    def _captured(self, summary: ImportSummary) -> CapturedTogether:
        project, options = summary.project, self._options
        doing = "" if self._silent else "replaying"
        with real_context() as context, with_progress(context, doing) as context:
            found = capture_many(summary, self._wanted, with_models(context, project))
        captured, errors = found.done, found.errors
        done = {one.id for one in captured}
        asked = [new.draft.current for _, _, new in summary.new if new.draft.id in done]
        if options.storing.as_json:
            told = {"captured": [capturing.document(one) for one in captured]}
            counts = self._counts(summary, [*summary.problems, *errors])
            self._show_json(told | counts | ({"not_reached": found.left} if found.left else {}))
        elif captured:
            bases = [recipe.execution.base_url for recipe in asked]
            recipes_asked = [new.record["current"] for _, _, new in summary.new if new.draft.id in done]
            words = capturing.compare_words(project, recipes_asked, bases)
            capturing.print_captured(project, captured, options.storing, words)
            if not self._silent:
                for text in self._notes(summary, len(captured), len(summary.problems) + len(errors)):
                    screen.line(screen.safe_line(text))
            if not found.left:
                capturing.offer(project, asked, options.allow, options.storing)
        capturing.tell_left(project, found, options.storing)
        return found

    def _show(self, summary: ImportSummary) -> None:
        """What would be captured."""
        if self._options.storing.as_json:
            told = {
                "would_capture": [
                    {"id": new.draft.id, "request": _request(summary, new.draft.current), "at": str(place)}
                    for _, place, new in summary.new
                ]
            }
            self._show_json(told | self._counts(summary, summary.problems))
            return
        for draft, place, new in summary.new:
            given = {*summary.project.scope.secrets, *summary.project.scope.values}
            names = sorted(set(names_in(draft.current)) & given)
            needs = f", with {', '.join(f'{{{{{name}}}}}' for name in names)}" if names else ""
            target = _request(summary, new.draft.current)
            screen.line(screen.safe_line(f"{new.draft.id}   {target}{needs}   ({place})"))
            for note in draft.notes:
                screen.line(f"  note: {screen.safe(note)}")
        for text in self._notes(summary, len(summary.new), len(summary.problems)):
            screen.line(screen.safe_line(text))

    def _notes(self, summary: ImportSummary, count: int, left: int) -> Iterator[str]:
        verb = "would be captured" if self._options.many.dry_run else "captured"
        parts = [f"{count:,} {verb}"] + ([f"{left:,} not"] if left else [])
        parts += [f"{summary.known:,} captured already"] if summary.known else []
        yield ", ".join(parts)
        if summary.unsafe:
            yield f"note: {many(summary.unsafe, 'request')} that may write left out: --unsafe sends them"
        if summary.unselected:
            yield f"note: {summary.unselected:,} of another host or type left out: see --host and --type"
        if names := _undeclared(summary):
            what = f"note: {', '.join(f'{{{{{name}}}}}' for name in names)}, in place of secrets"
            yield f"{what}: --write-config declares them in baselinekit.yaml, taken from the environment"
        if not self._options.many.dry_run and (unset := _unset(summary)):
            yield f"note: before the next compare: export {' '.join(f'{name}=…' for name in unset)}"
        if base := summary.shared_base():
            _, there = summary.sharing(base)
            also = f" with {many(there, 'file')} of the project" if there else ""
            how = "--write-config puts it into baselinekit.yaml instead"
            yield f"note: they share base_url: {base}{also}; {how}"

    def _counts(self, summary: ImportSummary, errors: Sequence[BaselinekitError]) -> dict[str, Json]:
        problems = [problem for error in errors for problem in error.problems]
        return {
            "left_out": [
                {
                    "file": problem.place.file if problem.place else None,
                    "line": problem.place.line if problem.place else None,
                    "code": problem.code,
                    "message": problem.message,
                    "hint": problem.hint,
                }
                for problem in problems
            ],
            "captured_already": summary.known,
            "unsafe": summary.unsafe,
            "unselected": summary.unselected,
        }

    @staticmethod
    def _show_json(told: dict[str, Json]) -> None:
        screen.show_json(json.dumps(told, default=str) + "\n")


def _undeclared(summary: ImportSummary) -> list[str]:
    """The secrets in what is new that no configuration declares."""
    used = {name for draft, _, _ in summary.new for name in names_in(draft.current)}
    return sorted(used & set(summary.project.scope.secrets) - set(summary.project.config.variables))


def _unset(summary: ImportSummary) -> list[str]:
    """The environment variables that a compare of what is new needs for its secrets, and that are not set."""
    project = summary.project
    used = {name for draft, _, _ in summary.new for name in names_in(draft.current)}
    found = []
    for name in sorted(used & set(project.scope.secrets)):
        stated = project.config.variables.get(name)
        where = name if stated is None else getattr(stated, "from_env", None)
        found += [where] if where and not os.environ.get(where) else []
    return found


def _declared(name: str, summary: ImportSummary) -> dict[str, Json]:
    """How the configuration declares a secret: where its value comes from, and which hosts it goes to."""
    users = (draft.current for draft, _, _ in summary.new if name in names_in(draft.current))
    project = summary.project
    ours = project.override_base_url or project.base_url
    bases = (current["execution"].get("base_url") or ours for current in users)
    hosts = sorted({urlsplit(base).netloc for base in bases if base})
    return {"from_env": name, "secret": True} | ({"hosts": hosts} if hosts else {})


def _request(summary: ImportSummary, recipe: Any) -> str:
    project = summary.project
    base = project.override_base_url or recipe.execution.base_url or project.base_url
    return kind_of(recipe).target(recipe, project.redactor.mask, base)
