"""What `baselinekit capture` does with several requests: typed URLs, and files of other tools. Requests that
cannot be captured are reported with their lines, and do not stop the others."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import click

from baselinekit.cli import capturing, recipes, screen
from baselinekit.cli.capture_options import CurlOptions, DraftOptions, HttpOptions
from baselinekit.cli.options import InOrder, command, parse_pairs, project_of, read_text
from baselinekit.cli.recipes import http_id, open_request, parse_path_rules, with_files
from baselinekit.clients.trust import check_inside
from baselinekit.commands.capture import CaptureResults, capture, group_of
from baselinekit.commands.importing import (
    ImportSummary,
    holds_requests,
    read_requests,
    summarize,
    worst_of,
)
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem
from baselinekit.importers.curloptions import is_known
from baselinekit.importers.drafts import (
    HINT_FOR_URL,
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    flaw_of_url,
)
from baselinekit.kinds.table import kind_of
from baselinekit.model.values import Edit, Json
from baselinekit.secrets.variables import names_in
from baselinekit.store.project import place_in_config, project_root
from baselinekit.store.reading import parse_record
from baselinekit.store.writing import edit_config
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

Files = dict[str, ImportedFile]


@command(HttpOptions, name="http", short_help="HTTP requests.")
def capture_http(options: HttpOptions) -> int:
    """Capture one request, or several URLs that share their method and their options."""
    method, urls = _split_words(options.words)
    if len(urls) < 2:
        return capturing.capture_http(options)
    if options.new.id:
        message = f"--id names one baseline, and these are {len(urls)}"
        raise InvalidInput(Problem("BK508", message, "leave it out: each is named by its URL"))
    rules = parse_path_rules(options.new.rules)

    def read() -> tuple[Project, Files]:
        files: Files = {}
        project, _ = open_request(replace(options, words=(*method, urls[0])))
        for url in urls:
            request = open_request(replace(options, words=(*method, url)))[1]
            current = request.current
            typed_base = str(current["execution"].get("base_url", ""))
            project = replace(project, trust=project.trust.naming(typed_base))
            notes = tuple(f"left out: {part}" for part in request.dropped)
            files[url] = ImportedFile((DraftRecipe(http_id(current), current, 0, notes=notes),))
        return project, files

    def record(draft: DraftRecipe, project: Project) -> dict[str, Any]:
        record = options.new.record(draft.id, draft.current, rules)
        group = options.new.group or group_of(parse_record(record), project)
        return record | {"current": with_files(draft.current, group, project)}

    return ManyCaptures(options, options.new.group, read, record).run()


def _split_words(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Split `[METHOD] URL URL …`; anything else is left to the capture of a single request, which refuses
    it."""
    first, others = words[0], list(words[1:])
    method = [first] if others and first.isalpha() and first.isupper() else []
    urls = others if method else list(words)
    if len(urls) > 1 and all("://" in url or url.startswith("/") for url in urls):
        return method, list(dict.fromkeys(urls))
    return method, [" ".join(urls)]


class LineOfCurl(InOrder):
    """A curl line among our options: short options, and long ones that curl knows, are left to curl."""

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        parser.ignore_unknown_options = True
        parser._short_opt.clear()
        for name in [name for name in parser._long_opt if is_known(name.removeprefix("--"))]:
            del parser._long_opt[name]
        return parser


@command(CurlOptions, cls=LineOfCurl, name="curl", short_help="The request of a curl line.")
def capture_curl(options: CurlOptions) -> int:
    return capturing.capture_http(options)


@command(DraftOptions, name="")
def capture_files(options: DraftOptions) -> int:
    """Capture files of other tools, recognised by their content; the other paths hold our own recipes."""
    params = parse_pairs("--param", options.params, "NAME=VALUE")
    # imported here, as requests need no evals
    from baselinekit.cli.casecapture import capture_from_cases, split_prompt_paths

    prompts, other_paths = split_prompt_paths(options.paths, project_of(options.project))
    if prompts:
        if other_paths:
            message = f"{prompts[0]} is a prompt folder, and {other_paths[0]} is none"
            raise InvalidInput(Problem("BK508", message, "capture them by two commands"))
        return capture_from_cases(options)
    if options.cases:
        message = f"--case names a case of a prompt folder, and {other_paths[0]} is none"
        raise InvalidInput(Problem("BK508", message, "leave it out"))
    texts, paths = {}, []
    for path in options.paths:
        text = _text(path)
        if text is not None and holds_requests(path, text):
            texts[path] = text
        else:
            paths.append(path)

    def read() -> tuple[Project, Files]:
        project = project_of(options.project)
        base_url = project.override_base_url or project.base_url
        if flaw := flaw_of_url(base_url or ""):
            problems = [Problem("BK508", f"base_url: {flaw}", HINT_FOR_URL, at=("base_url",))]
            if project.config_file is not None and project.operator.config_from is None:
                problems = place_in_config(project.root, project.config_file, problems)
            raise InvalidInput(*problems)
        choices = ImportChoices(
            base_url=base_url,
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
    """The text of a file or of standard input; None if the reader of baselines should report what is wrong
    with it."""
    if path != "-" and not os.path.isfile(path):
        return None
    try:
        return read_text("capture", path, "a file of requests")
    except InvalidInput as error:
        if any(problem.code == "BK106" for problem in error.problems):
            hint = "take out of it what is not to be asked, and give the parts"
            raise InvalidInput(*(replace(problem, hint=hint) for problem in error.problems)) from None
        if path == "-":
            raise
        return None


def _text_beside(document: str, reference: str) -> str:
    """Read a file that a document refers to. It must be in the document's folder or, in a git repository, in
    the repository."""
    folder = os.path.realpath("." if document == "-" else os.path.dirname(document) or ".")
    target = os.path.realpath(os.path.join(folder, reference))
    check_inside(os.path.realpath(project_root(None, folder)), target, reference)
    if not os.path.isfile(target):
        raise InvalidInput(Problem("BK111", "there is no such file", "mend the reference"))
    return read_text("capture", target, "a JSON or YAML file")


def _record(draft: DraftRecipe, options: DraftOptions, project: Project) -> dict[str, Any]:
    """The new record from the file and the command line. Paths of files that it sends are relative to its own
    future folder."""
    tags = list(dict.fromkeys([*options.tags, *draft.tags]))
    record: dict[str, Any] = {"id": draft.id} | ({"name": draft.name} if draft.name else {})
    record |= {"current": draft.current, "comparison": {}, "metadata": {"tags": tags} if tags else {}}
    if "files" in draft.current["input"] or {"verify", "cert"} & draft.current["execution"].keys():
        group = options.group or group_of(parse_record(record), project)
        record["current"] = with_files(draft.current, group, project)
    return record


class ManyCaptures:
    """A capture of several requests, from reading them to printing the result."""

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
        summary = self._summarize()
        if not self._options.many.dry_run and self._write_config(summary):
            summary = self._summarize()
        if not summary.new:
            is_more = summary.failed > len(summary.problems) or summary.known or summary.unsafe
            if summary.problems and is_more:
                self._print_notes(summary, 0, summary.failed)
            raise self._nothing_error(summary)
        if self._options.many.dry_run:
            self._show(summary)
            outcome = CaptureResults((), [])
        else:
            outcome = self._capture(summary)
        return capturing.finish(summary.project, outcome, self._options.storing, summary.problems)

    def _summarize(self) -> ImportSummary:
        project, files = self._read()
        summary = summarize(project, files, lambda draft: self._record(draft, project), self._wanted)
        recipes = [new.draft.current for new in summary.new]
        return replace(summary, project=capturing.allowing(summary.project, recipes, self._options.allow))

    def _write_config(self, summary: ImportSummary) -> bool:
        """Write the base_url and the variables into the configuration if the operator wants that; return
        whether anything was written."""
        project, is_requested = summary.project, self._options.many.write_config
        base, *counts = summary.shared_base() or (None, 0, 0)
        if is_requested and not project.config.base_url:
            base = base or project.override_base_url
        secret_names = self._options.project.secrets
        names = [name for name in _undeclared(summary) if is_requested or name in secret_names]
        changes = []
        if base and (is_requested or self._confirm(base, sum(counts))):
            file = edit_config(project.root, project.config_file, [Edit(("base_url",), base)])
            changes.append(f"base_url: {base} in {file}")
        if names:
            edits = [Edit(("variables", name), _declaration(name, summary)) for name in names]
            file = edit_config(project.root, project.config_file, edits)
            changes.append(f"variables: {', '.join(names)} in {file}")
        if not self._silent:
            for text in changes:
                screen.line(screen.safe_line(f"wrote {text}"))
        return bool(changes)

    def _confirm(self, base: str, count: int) -> bool:
        if self._silent or not screen.can_ask():
            return False
        question = f"{count_noun(count, 'request')} go to {base}: write it to baselinekit.yaml as base_url?"
        return bool(click.confirm(screen.safe_line(question), default=True))

    def _nothing_error(self, summary: ImportSummary) -> BaselinekitError:
        if summary.problems:
            return worst_of(summary.problems)
        if summary.known:
            message = f"{count_noun(summary.known, 'request')} there, and each is captured already"
            return InvalidInput(
                Problem("BK520", message, "to accept new answers: baselinekit refresh --all-failed")
            )
        if summary.unsafe:
            each = "the only request" if summary.unsafe == 1 else f"each of the {summary.unsafe:,} requests"
            message = f"{each} there may write"
            return NothingSelected(Problem("BK509", message, "--unsafe sends them"))
        hint = "choose others with --host and --type, such as --type text"
        return NothingSelected(Problem("BK509", "no answer there is of the types that are chosen", hint))

    def _capture(self, summary: ImportSummary) -> CaptureResults:
        project, options = summary.project, self._options
        with capturing.capture_context(project, options.storing) as context:
            outcome = capture(project, summary.new, self._wanted, context)
        captured, errors = outcome.done, outcome.errors
        if not captured and (errors or outcome.is_interrupted):
            return outcome
        done_ids = {baseline.id for baseline in captured}
        asked_recipes = [new.draft.current for new in summary.new if new.draft.id in done_ids]
        if options.storing.as_json:
            result = {"captured": [capturing.document(baseline) for baseline in captured]}
            counts = self._counts(summary, [*summary.problems, *errors])
            self._show_json(result | counts | ({"not_reached": outcome.left} if outcome.left else {}))
        elif captured:
            bases = [recipe.execution.base_url for recipe in asked_recipes]
            raw_recipes = [new.current for new in summary.new if new.draft.id in done_ids]
            words = capturing.compare_arguments(project, raw_recipes, bases)
            capturing.print_captured(project, captured, options.storing, words)
            if not self._silent:
                failed = summary.failed + len(errors)
                self._print_notes(summary, len(captured), failed, capturing.count_client_errors(captured))
            if not outcome.left:
                capturing.offer_to_name(project, asked_recipes, options.allow, options.storing)
        return outcome

    def _show(self, summary: ImportSummary) -> None:
        """Print what would be captured."""
        if self._options.storing.as_json:
            result = {
                "would_capture": [
                    {
                        "id": new.draft.id,
                        "request": _describe_request(summary, new.draft.current),
                        "at": str(new.place),
                    }
                    for new in summary.new
                ]
            }
            self._show_json(result | self._counts(summary, summary.problems))
            return
        for new in summary.new:
            available = {*summary.project.scope.secrets, *summary.project.scope.values}
            names = sorted(set(names_in(new.current)) & available)
            needed_note = f", with {', '.join(f'{{{{{name}}}}}' for name in names)}" if names else ""
            target = _describe_request(summary, new.draft.current)
            screen.line(screen.safe_line(f"{new.draft.id}   {target}{needed_note}   ({new.place})"))
            for note in new.notes:
                screen.line(f"  note: {screen.safe(note)}")
        self._print_notes(summary, len(summary.new), summary.failed)

    def _print_notes(
        self, summary: ImportSummary, count: int, failed_count: int, client_errors: str = ""
    ) -> None:
        if not (self._silent or self._options.storing.as_json):
            for text in self._notes(summary, count, failed_count, client_errors):
                screen.line(screen.safe_line(text))

    def _notes(
        self, summary: ImportSummary, count: int, failed_count: int, client_errors: str
    ) -> Iterator[str]:
        verb = "would be captured" if self._options.many.dry_run else "captured"
        parts = [f"{count:,} {verb}"] + ([f"{failed_count:,} not"] if failed_count else [])
        parts += [f"{summary.known:,} captured already"] if summary.known else []
        parts[1:1] = [client_errors] if client_errors else []
        yield ", ".join(parts)
        if summary.unsafe:
            requests = count_noun(summary.unsafe, "request")
            yield f"note: {requests} that may write left out: --unsafe sends them"
        if summary.unselected:
            yield f"note: {summary.unselected:,} of another host or type left out: see --host and --type"
        if names := _undeclared(summary):
            replaced = f"note: {', '.join(f'{{{{{name}}}}}' for name in names)}, in place of secrets"
            yield f"{replaced}: --write-config declares them in baselinekit.yaml, taken from the environment"
        if not self._options.many.dry_run and (unset := _unset_variables(summary)):
            yield f"note: before the next compare: export {' '.join(f'{name}=…' for name in unset)}"
        if shared := summary.shared_base():
            base, sharing_count, file_count = shared
            files_note = f" with {count_noun(file_count, 'file')} of the project" if file_count else ""
            hint = "--write-config puts it into baselinekit.yaml instead"
            others = len(summary.new) - sharing_count
            who = f"{sharing_count:,} of {len(summary.new):,}" if others else "they"
            yield f"note: {who} share base_url: {base}{files_note}; {hint}"

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
    def _show_json(document: dict[str, Json]) -> None:
        screen.show_json(json.dumps(document, default=str) + "\n")


def _undeclared(summary: ImportSummary) -> list[str]:
    """The secrets in new recipes that the configuration does not declare."""
    used = {name for new in summary.new for name in names_in(new.current)}
    return sorted(used & set(summary.project.scope.secrets) - set(summary.project.config.variables))


def _unset_variables(summary: ImportSummary) -> list[str]:
    """The environment variables that a compare of the new recipes needs for its secrets but that are not
    set."""
    project = summary.project
    used = {name for new in summary.new for name in names_in(new.current)}
    variables = []
    for name in sorted(used & set(project.scope.secrets)):
        declaration = project.config.variables.get(name)
        variable = name if declaration is None else getattr(declaration, "from_env", None)
        variables += [variable] if variable and not os.environ.get(variable) else []
    return variables


def _declaration(name: str, summary: ImportSummary) -> dict[str, Json]:
    """The configuration entry of a secret: where its value comes from, and which hosts it may be sent to."""
    users = (new.current for new in summary.new if name in names_in(new.current))
    project = summary.project
    default_base = project.override_base_url or project.base_url
    bases = (current["execution"].get("base_url") or default_base for current in users)
    hosts = sorted({urlsplit(base).netloc for base in bases if base})
    return {"from_env": name, "secret": True} | ({"hosts": hosts} if hosts else {})


def _describe_request(summary: ImportSummary, recipe: Any) -> str:
    project = summary.project
    base = project.override_base_url or recipe.execution.base_url or project.base_url
    return kind_of(recipe).target(recipe, project.redactor.mask, base)
