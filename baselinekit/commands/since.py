"""What a change touches (--changed-since), and which baselines it loosens (--base)."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar

from baselinekit.changes.changes import ComparisonRules, changes_of
from baselinekit.clients.programs.git import Git
from baselinekit.commands.loading import load_partly
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.jsontext import compact
from baselinekit.files.languages import SUFFIXES
from baselinekit.kinds.kind import CHECKS
from baselinekit.kinds.settings import EXECUTION
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import base_mode, form_of
from baselinekit.matching.rules import Mode
from baselinekit.model import baselines as model
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Config, Skill
from baselinekit.model.results import BaselineChange, BaselineChanges
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import describes_many, texts_in
from baselinekit.placeholders.table import PlaceholderContext, types_of
from baselinekit.placeholders.template import Inline, Placeholder, binds, compile_text
from baselinekit.store import at_revision, reading, records
from baselinekit.store.project import CONFIG_NAME, PROMPT_FILES
from baselinekit.store.reading import locate
from baselinekit.structs import Struct, asdict, plain, replace
from baselinekit.values.equality import identical, is_number
from baselinekit.values.paths import render
from baselinekit.values.places import value_at
from baselinekit.values.texts import mask_and_clip, no_mask

# What a change does to a baseline or an eval case. Of an output, what weakens it is listed here. Any change
# of a rule, a check or a grader weakens, unless a table knows that it asks for more.

Stricter = Callable[[Any, Any], bool]
"""Whether the second value asks for more than the first one."""


def _falls(old: Any, new: Any) -> bool:
    return is_number(new) and (old is None or new < old)


def _has_all(old: Any, new: Any) -> bool:
    return isinstance(old, list | tuple) and isinstance(new, list | tuple) and all(one in new for one in old)


def _from_strict_to_loose(*groups: tuple[str | None, ...]) -> Stricter:
    ranks = {word: rank for rank, words in enumerate(groups) for word in words}

    def is_stricter(old: Any, new: Any) -> bool:
        then, now = ("by" if isinstance(word, model.By) else word for word in (old, new))
        return then in ranks and now in ranks and ranks[now] < ranks[then]

    return is_stricter


_MORE = {"pass_at", "borderline_at", "threshold", "pass_threshold", "min", "min_similarity", "at_least"}
_MORE |= {"minimums", "min_tokens", "min_length", "min_score", "min_delta"}
_LESS = {"max", "max_seconds", "max_usd", "max_ratio", "max_total", "max_input", "max_output", "max_tokens"}
_LESS |= {"max_length", "max_delta", "tolerance", "retries"}
_ON = {"required", "case_sensitive", "strict"}

_STRICTER: dict[str | int, Stricter] = {
    **dict.fromkeys(_MORE, lambda old, new: is_number(new) and (old is None or new > old)),
    **dict.fromkeys(_LESS, _falls),
    **dict.fromkeys(("abs", "rel"), lambda old, new: old is not None and _falls(old, new)),
    **dict.fromkeys(_ON, lambda old, new: new is True),
    **dict.fromkeys(model.FLAGS - _ON | {"borderline_passes"}, lambda old, new: new is False),
    **dict.fromkeys(("all", "none", "contains_all", "not_contains", "require_keys"), _has_all),
    **dict.fromkeys(
        ("any", "alternatives", "contains_any"), lambda old, new: bool(new) and _has_all(new, old)
    ),
    **dict.fromkeys(("ignore_fields", "ignore_values"), lambda old, new: _has_all(new, old)),
    **dict.fromkeys(("latency", "cost", "max_age", "scores"), lambda old, new: old is None),
    "skip": lambda old, new: new is None,
    "fields": lambda old, new: isinstance(new, model.FieldRule) and new.type == "exact",
    "type": _from_strict_to_loose(("exact",), ("structural",), ("numeric", "semantic")),
    "arrays": _from_strict_to_loose(("ordered",), (None,), ("by",), ("unordered",), ("each", "subset")),
    "criticality": _from_strict_to_loose(("critical",), ("high",), ("medium",), ("low",), (None,)),
}
"""When a value asks for more, by the key that it has, or that is above it."""

_EXPECTATIONS = ("value", "wanted", "context", "method", "seconds", "cost_usd")
"""Keys whose new value is another expectation, as after a refresh."""

_MOST_CHARACTERS = 60


class Way(Struct):
    """One change of a baseline or case. `at` leads to it in the record. `weakens`: more passes."""

    at: Path
    message: str
    weakens: bool = True

    def __str__(self) -> str:
        return f"{render(self.at)}: {self.message}"


def weakened(
    before: model.Baseline, after: model.Baseline, words_before: PlaceholderContext, words: PlaceholderContext
) -> list[Way]:
    """All the ways in which the baseline has changed."""
    then, now = _outputs(before), _outputs(after)
    ways: list[Way] = []
    if then and not now:
        ways.append(Way(("baseline",), "no longer has a stored output: nothing is compared"))
    elif then:
        ways += _compare_outputs(before, after, (words_before, words))
    ways += compare_recipes(before.current, after.current)
    if now:
        modes = _mode(before), _mode(after)
        flags = model.FLAGS - ({"normalize_newlines"} if modes[0].type != modes[1].type else set())
        for way in compare_values(_rules(before, modes[0], flags), _rules(after, modes[1], flags), ()):
            gone = way.at[:2] == ("comparison", "tolerance") and way.at[2] not in after.comparison.tolerance
            weakens = applies_elsewhere(after.comparison, str(way.at[2])) if gone else way.weakens
            ways.append(replace(way, weakens=weakens))
    ways += compare_values(selecting(before.metadata), selecting(after.metadata), ("metadata",))
    return ways


def applies_elsewhere(rules: model.Rules, text: str) -> bool:
    """Whether a path may be ignored, or have another tolerance, once it has none of its own."""
    ends, ignored = ("*", text.rpartition(".")[2]), (rules.options or model.Options()).ignore_values or ()
    others = (*rules.ignore_fields, *rules.ignore_values, *ignored, *rules.tolerance)
    return any(one.endswith(ends) for one in others)


def _outputs(baseline: model.Baseline) -> dict[str, tuple[Path, Json]]:
    """The stored outputs with their places, by the condition of their variant."""
    known = baseline.baseline
    if known is None or known.output is ABSENT:
        return {}
    return {"": (model.known_path(None), known.output)} | {
        repr(sorted(variant.when.items())): (model.known_path(number), variant.output)
        for number, variant in enumerate(known.variants)
    }


def _compare_outputs(
    before: model.Baseline, after: model.Baseline, words: tuple[PlaceholderContext, PlaceholderContext]
) -> Iterator[Way]:
    then, now = _outputs(before), _outputs(after)
    mode, form = _mode(after), form_of(after.current)
    types = {mode.type, *(rule.type for rule in after.comparison.fields.values())}
    allows_more = mode.allow_additional_fields or not types <= {"exact", "structural", None}
    has_subset = "subset" in after.comparison.arrays.values()
    for condition, (place, new) in now.items():
        if condition not in then:
            yield Way(place, "a new variant: another output is right in some places")
            continue
        for change in changes_of(then[condition][1], new, ComparisonRules()).changes:
            at, parent = (*place, "output", *change.path), change.path[:-1]
            if change.kind == "order":
                if isinstance(value_at(new, change.path), list):
                    yield Way(at, "expects its elements in another order", weakens=False)
            elif change.kind == "removed":
                rows = value_at(new, parent)
                weakens = allows_more or parent in form  # of headers and parts only those stated count
                if isinstance(rows, list):  # the one row that is left may describe every element
                    weakens = has_subset or (len(rows) == 1 and describes_many(rows[0]))
                yield Way(at, f"is no longer expected: {short(change.before)}", weakens)
            elif change.kind == "added":
                yield Way(at, f"is expected now: {short(value_at(new, change.path))}", weakens=False)
            else:
                yield from _compare_leaves(change.before, value_at(new, change.path), words, at)
    if then.keys() - now.keys():
        message = "a variant was removed: another output is right in some places"
        yield Way(("baseline", "variants"), message)


def _compare_leaves(
    old: Json, new: Json, words: tuple[PlaceholderContext, PlaceholderContext], at: Path
) -> Iterator[Way]:
    change = f"{short(old)} -> {short(new)}"
    before, after = _compile(old, words[0]), _compile(new, words[1])
    if not isinstance(after, Placeholder | Inline):
        yield Way(at, f"another expectation: {change}", weakens=binds(before))
    elif not isinstance(before, Placeholder | Inline):
        yield Way(at, f"a value became a placeholder: {change}")
    elif _is_only_other_text(before, after):
        yield Way(at, f"another expectation: {change}", weakens=False)
    elif not is_narrower(before, after):
        yield Way(at, f"another placeholder: {change}")


def _compile(value: Json, words: PlaceholderContext) -> Any:
    if isinstance(value, str):
        with suppress(BaselinekitError):
            return compile_text(value, words)
    return value


def _is_only_other_text(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a text has no new placeholder, and none that now takes the text beside it as well."""
    if not isinstance(before, Inline) or not isinstance(after, Inline):
        return False
    takes_text = any(isinstance(part, Placeholder) and part.kind.any_text for part in after.parts)
    return not takes_text and Counter(after.tokens) <= Counter(before.tokens)


def is_narrower(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a placeholder is known to accept no more than before: it is a special case of any value or of
    any text, or the same one with arguments where it had none."""
    if isinstance(before, Inline) or isinstance(after, Inline):
        return False
    old, new = before.token, after.token
    is_text = types_of(new.name) == frozenset({"string"})
    is_wider = old.name in (new.name, "any") or (old.name == "any_string" and is_text)
    is_bound_alike = (old.key, old.optional, old.nullable) == (new.key, new.optional, new.nullable)
    return is_wider and is_bound_alike and not old.args


def compare_recipes(old: Json, new: Json, path: Path = ("current",)) -> Iterator[Way]:
    """Where two recipes differ, down to the fields of their structs."""
    if is_same(old, new):
        return
    if path == (*EXECUTION, CHECKS):
        checks = _by_name(new)
        for name, check in _by_name(old).items():
            yield from compare_values(check, checks.get(name), (*path, name))
    elif path == (*EXECUTION, "scores"):
        yield from compare_values(old, new, path)
    elif isinstance(old, Struct) and old.__class__ is new.__class__:
        for name in old.__struct_fields__:
            yield from compare_recipes(getattr(old, name), getattr(new, name), (*path, name))
    else:
        yield Way(path, "another request is sent")


def _by_name(checks: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The checks of a recipe by their names; further ones of the same name have a number."""
    found: dict[str, Json] = {}
    for number, check in enumerate(checks):
        found |= {(f"{name}[{number}]" if name in found else name): value for name, value in check.items()}
    return found


def is_same(old: Any, new: Any) -> bool:
    """Whether two values are equal down to the types: true is not 1, and 5.0 is sent differently from 5."""
    return identical(plain(old), plain(new), ordered=False)


def compare_values(old: Any, new: Any, path: Path) -> Iterator[Way]:
    """Compare two values down to the fields of their structs and the keys of their mappings. A change
    that the table does not know (a pattern, a schema, a rubric) may ask for anything: it weakens."""
    if is_same(old, new):
        return
    names = path[:2] if len(path) == 3 and path[1] in ("arrays", "fields", "tolerance") else path
    key = names[-1] if names else ""
    is_whole = key in (*_EXPECTATIONS, "json_schema")
    if isinstance(old, Struct) and old.__class__ is new.__class__ and not is_whole:
        for name in old.__struct_fields__:
            yield from compare_values(getattr(old, name), getattr(new, name), (*path, name))
    elif isinstance(old, Mapping) and isinstance(new, Mapping) and not is_whole:
        for name in {**old, **new}:
            yield from compare_values(old.get(name), new.get(name), (*path, str(name)))
    else:
        is_stricter = next((_STRICTER[name] for name in reversed(names) if name in _STRICTER), None)
        if is_stricter is None or not is_stricter(old, new):
            yield Way(path, _describe(old, new), key not in _EXPECTATIONS)


def _describe(old: Any, new: Any) -> str:
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        signed = [f"-{short(one)}" for one in old if one not in new]
        return " ".join([*signed, *(f"+{short(one)}" for one in new if one not in old)]) or "another order"
    return " -> ".join("nothing" if value is None else short(value) for value in (old, new))


def _mode(baseline: model.Baseline) -> Mode:
    output = baseline.baseline.output if baseline.baseline else None
    return base_mode(baseline.comparison, output, baseline.current.kind, [])


def _rules(baseline: model.Baseline, mode: Mode, flags: Collection[str]) -> dict[str, Any]:
    """What a baseline is compared by, with the defaults where nothing is stated."""
    rules, known = baseline.comparison, baseline.baseline
    options, observed = rules.options or model.Options(), known.observed if known else None
    tolerances = {path: one for path, one in rules.tolerance.items() if isinstance(one, model.Tolerance)}
    return {
        "baseline": {"observed": {key: getattr(observed, key, None) for key in ("seconds", "cost_usd")}},
        "comparison": {
            "type": mode.type,
            "options": {name: getattr(mode, name) for name in sorted(flags)},
            "method": mode.method,
            "min_similarity": mode.min_similarity if mode.type == "semantic" else 1,
            "ignore_fields": rules.ignore_fields,
            "ignore_values": [*rules.ignore_values, *(options.ignore_values or ())],
            "require_keys": [*rules.require_keys, *(options.require_keys or ())],
            "tolerance": tolerances,
            **{name: getattr(rules, name) for name in ("arrays", "fields", "latency", "cost", "max_age")},
        },
    }


def selecting(one: model.Metadata | Case) -> dict[str, Any]:
    """By what a baseline or a case is selected and run."""
    return {"skip": one.skip, "criticality": one.criticality, "tags": sorted(one.tags)}


def short(value: Json) -> str:
    return mask_and_clip(compact(plain(value)), _MOST_CHARACTERS, no_mask, counted=False)


# --changed-since: the baselines that a change touches. A baseline counts as touched when its own file
# has changed, or any file that its recipe uses: every file that a text in it names, the folder of its
# skill, the program behind a name of the configuration. A change of the configuration touches all.
# Git lists the files that differ. Which of them a baseline uses is not looked up in the file system, so
# that deleted files count as well.


_IRRELEVANT_KEYS = {"version", "record", "inline_limit", "evals", "limits"}
_SKILL_FOLDERS = ("skills", ".claude/skills")
_LONGEST_NAME = 1_024


def select_touched(
    project: Project, git: Git, rev: str, chosen: list[model.Baseline]
) -> tuple[list[model.Baseline], list[str]]:
    """Return those of the chosen baselines that have changed, or that use something changed, since the commit
    at which this checkout branched off `rev`; and notes on how that was determined."""
    if not chosen:
        return [], []
    start, notes = branched_at(git, rev, "--changed-since")
    name = project.config_file or CONFIG_NAME
    settings = settings_changed(at_revision.config(git, start, name) or Config(), project.config)
    if general := sorted(settings.keys() - _IRRELEVANT_KEYS):
        message = f"{name}: {', '.join(general)} changed since {rev}"
        return chosen, [*notes, f"{message}, so that all baselines are compared"]
    files = git.changed_since(start)
    folders = {str(folder) for name in files for folder in PurePosixPath(name).parents}
    root = os.path.realpath(project.root)
    in_changed_files = [  # only the record may have changed, which does not count
        baseline
        for baseline in chosen
        for file in [baseline.source.file]
        if not files.isdisjoint([file, os.path.relpath(os.path.realpath(os.path.join(root, file)), root)])
    ]
    before, _ = baselines_then(git, start, [one.source.file for one in in_changed_files])
    known = {_content(baseline) for baseline in before}
    edited = {baseline.id for baseline in in_changed_files if _content(baseline) not in known}

    def is_touched(baseline: model.Baseline) -> bool:
        if baseline.id in edited or os.path.isabs(baseline.source.file):  # one outside is unknown to git
            return True
        used_files, used_folders = used_by(baseline, project)
        return not (files.isdisjoint(used_files) and folders.isdisjoint(used_folders))

    return list(filter(is_touched, chosen)), notes


def _content(baseline: model.Baseline) -> tuple[str, str, str]:
    """A file, an id in it, and a digest of that baseline without the record of its runs."""
    return baseline.source.file, baseline.id, records.case_digest(baseline.source.digest)


def baselines_then(git: Git, commit: str, paths: Sequence[str]) -> tuple[list[model.Baseline], list[str]]:
    """Return the baselines in these files and folders at a commit, and the files that could not be read."""
    files, folders = {*paths}, _prefixes(paths)

    def is_wanted(name: str) -> bool:
        base = os.path.basename(name)
        may_hold = base.endswith(SUFFIXES) or records.MARK in base or base in PROMPT_FILES
        return may_hold and base != CONFIG_NAME and (name in files or name.startswith(folders))

    with at_revision.laid_out(git, commit, is_wanted) as root:
        there = [path for path in paths if os.path.lexists(os.path.join(root, path))]
        found, error = reading.load_partly([*reading.discover_files(there, root).files], root)
    problems = error.problems if error is not None else ()
    return found, sorted({problem.place.file for problem in problems if problem.place})


def _prefixes(folders: Iterable[str]) -> tuple[str, ...]:
    """The beginnings of the names of the files in folders."""
    return tuple("" if os.path.normpath(one) == "." else f"{os.path.normpath(one)}/" for one in folders)


def branched_at(git: Git, rev: str, option: str) -> tuple[str, list[str]]:
    """Return the commit at which this checkout branched off `rev`; `rev` itself, and a note, if git sees
    none."""
    commit = git.commit(rev, option)
    if (fork := git.fork(commit)) is not None:
        return fork, []
    return commit, [f"git sees no common ancestor with {rev} here: compared with {rev} itself"]


def used_by(baseline: model.Baseline, project: Project) -> tuple[list[str], list[str]]:
    """Return what a baseline may use: files, and folders with all their content, relative to the root; they
    need not exist. Each word of its recipe may be the name of a file, and each word of what the configuration
    runs the name of a module."""
    recipe, config = baseline.current, project.config
    family, name = kind_of(recipe).asks(recipe)
    words = {name, *_texts([recipe, baseline.comparison])}
    groups = (config.commands, config.skills, config.models)
    entries = [entry for group in groups for word, entry in group.items() if word in words]
    folders = [os.path.normpath(one.folder) for one in entries if isinstance(one, Skill) and one.folder]
    folders += [f"{folder}/{name}" for folder in _SKILL_FOLDERS] if family == "skills" else []
    modules = [text.partition(":")[0].partition(".")[0] for text in _texts(entries)]
    modules = list(filter(str.isidentifier, modules))
    files = [
        *files_named([baseline.output_files, recipe], (*_starts(baseline), ""), project),
        *files_named(entries, ("",), project),
        *(f"{module}.py" for module in modules),
    ]
    return files, [*folders, *modules]  # of a package any part may be imported


def _starts(baseline: model.Baseline) -> tuple[str, ...]:
    """Return the folders that file names may be relative to: its own, and where the program runs."""
    folder = os.path.dirname(baseline.source.file)
    cwd = getattr(baseline.current.input, "cwd", None)
    return (folder, os.path.join(folder, cwd)) if cwd else (folder,)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a recipe or a part of the configuration that may be names."""
    return (text for text in texts_in(plain(value)) if len(text) <= _LONGEST_NAME and text.isprintable())


def files_named(value: Any, starts: Sequence[str], project: Project) -> Iterator[str]:
    """Yield the files that the texts in a value may mean: `list.txt`, or what follows the `=` in
    `--config=list.txt`. A text with values that only a run has names no file."""
    for text in _texts(value):
        with suppress(BaselinekitError):
            expanded = str(project.scope.expand(text, ()) if "{{" in text else text)
            for word in (expanded, expanded.partition("=")[2]):
                if word and not os.path.isabs(word):
                    yield from (os.path.normpath(os.path.join(start, word)) for start in starts)


def settings_changed(before: Config, now: Config) -> dict[str, list[str]]:
    """Return the keys of the configuration that have changed, with the names below them."""
    changed = {}
    for key, old in asdict(before).items():
        new = getattr(now, key)
        if old != new:
            both = isinstance(old, dict) and isinstance(new, dict)
            names = {**old, **new} if both else ()
            changed[key] = sorted(name for name in names if old.get(name) != new.get(name))
    return changed


# --base: what a change does to the baselines themselves. A pull request that edits the expectations passes,
# and its changes should still be visible: baselines added, removed, or loosened so that more passes.


_MOST_LISTED = 20
"""How many of the ways in which one baseline was loosened are listed."""

_RELEVANT_KEYS = (
    *("base_url", "baselines", "environments", "variables", "placeholders", "http"),
    *("allow_hosts", "skills", "commands", "models"),
)


def find_weakened(project: Project, git: Git, ref: str, strict: bool) -> BaselineChanges:
    """Compare the baselines of the whole project with those at the commit where this checkout branched off
    `ref`. `strict`: a weakened baseline makes the run fail."""
    start, notes = branched_at(git, ref, "--base")
    config_changes, old = config_then(project, git, start)
    folders = list(dict.fromkeys([*project.folders, *replace(project, config=old).folders]))
    before, unread = baselines_then(git, start, folders)
    notes += [f"{name} could not be read as it was at {ref}: what it held counts as added" for name in unread]
    after, _ = load_partly(project, ())
    left_out = [name for name in git.left_out() if name.endswith(SUFFIXES)]
    if any(name.startswith(_prefixes(folders)) for name in left_out):
        message = "--base compares all baselines, and this sparse checkout leaves some out"
        raise InvalidInput(Problem("BK508", message, "git sparse-checkout disable"))
    words_then, changed = replace(project.words, own=old.placeholders), git.changed_since(start)

    def ways_of(old: model.Baseline, new: model.Baseline) -> list[Way]:
        ways = weakened(old, new, words_then, project.words)
        return ways + _changed_files(new, project, changed)

    def place_of(baseline: model.Baseline, at: Path) -> Place:
        return locate(baseline.source, at, project.root)

    was_approved, is_approved = _approvals(before), _approvals(after)
    changes = config_changes
    for change in changes_between(before, after, ways_of, place_of):
        approval = is_approved.get(change.id)
        if approval is not None and approval != was_approved.get(change.id):
            _, by, reason = approval
            change = replace(change, approved_by=by, reason=reason)
        changes.append(change)
    return BaselineChanges(ref=ref, commit=start, strict=strict, notes=tuple(notes), changes=tuple(changes))


def _approvals(baselines: Iterable[model.Baseline]) -> dict[str, tuple[str | None, str | None, str | None]]:
    known = {one.id: one.baseline for one in baselines if one.baseline}
    return {id: (one.captured_at, one.approved_by, one.reason) for id, one in known.items()}


def config_then(project: Project, git: Git, commit: str) -> tuple[list[BaselineChange], Config]:
    """Return what has changed in the configuration, and the old configuration."""
    name = project.config_file or CONFIG_NAME
    old = at_revision.config(git, commit, name)
    changed = settings_changed(old, project.config) if old else {}
    ways = [
        f"{key} is now a different one" + (f": {', '.join(changed[key])}" if changed[key] else "")
        for key in _RELEVANT_KEYS
        if key in changed
    ]
    change = BaselineChange(name, "loosened", name, None, tuple(ways))
    return [change] if ways else [], old or Config()


T = TypeVar("T", model.Baseline, Case)
CHANGES: tuple[Literal["loosened"], Literal["changed"]] = ("loosened", "changed")


def changes_between(
    before: Iterable[T],
    after: Iterable[T],
    ways_of: Callable[[T, T], Sequence[Way]],
    place_of: Callable[[T, Path], Place],
) -> Iterator[BaselineChange]:
    """Yield what was removed, added, loosened and changed, by id."""
    then, now = ({one.id: one for one in group} for group in (before, after))
    for id in sorted({**then, **now}):
        old, new = then.get(id), now.get(id)
        if new is None:
            yield BaselineChange(id, "removed", then[id].source.file, None)
        elif old is None:
            yield BaselineChange(id, "added", new.source.file, place_of(new, ("id",)).line)
        else:
            ways = ways_of(old, new)
            for change in CHANGES:
                if chosen := [way for way in ways if way.weakens is (change == "loosened")]:
                    place, rest = place_of(new, chosen[0].at), len(chosen) - _MOST_LISTED
                    lines = tuple(map(str, chosen[:_MOST_LISTED]))
                    lines += (f"and {rest:,} more",) if rest > 0 else ()
                    yield BaselineChange(id, change, place.file, place.line, lines)


def _changed_files(baseline: model.Baseline, project: Project, changed: set[str]) -> list[Way]:
    """Return the changed files that may be part of its request: uploads, templates, inputs, rubrics, words of
    a command. The program that is run, and a SKILL.md, are what is tested."""
    recipe = baseline.current
    parts = [kind_of(recipe).question(recipe), recipe.scores]
    named = {*files_named(parts, _starts(baseline), project)}
    return [Way(("current",), f"another request is sent: {name} changed") for name in sorted(named & changed)]
