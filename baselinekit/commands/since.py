"""What a change touches (--changed-since), and which baselines it loosens (--base)."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar

from baselinekit.changes.changes import ComparisonRules, changes_of
from baselinekit.clients.programs.git import Git
from baselinekit.commands.loading import load_partly
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.jsontext import compact
from baselinekit.kinds.kind import CHECKS
from baselinekit.kinds.settings import EXECUTION, INPUT
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import base_mode, form_of
from baselinekit.matching.rules import Mode
from baselinekit.model import baselines as model
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Config, Recipe, Skill
from baselinekit.model.results import BaselineChange, BaselineChanges
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.formats import FORMATS
from baselinekit.placeholders.grammar import Token, describes_many, has_marker, texts_in
from baselinekit.placeholders.table import PlaceholderContext, types_of
from baselinekit.placeholders.template import Inline, Placeholder, binds, compile_text
from baselinekit.store import at_revision, records
from baselinekit.store.project import CONFIG_NAME
from baselinekit.store.reading import locate
from baselinekit.structs import Struct, asdict, plain, replace
from baselinekit.values.equality import identical, is_number
from baselinekit.values.paths import find, parse, render, roots
from baselinekit.values.places import value_at
from baselinekit.values.texts import mask_and_clip, no_mask

# What a change does to a baseline or an eval case. What is in a closed table weakens it; what is known to
# ask for more is not reported; any other change is only listed.


CHECKS_AT, SCORES_AT = (*EXECUTION, CHECKS), (*EXECUTION, "scores")

_LOOSENESS: dict[str, dict[str | None, int]] = {
    "type": {"exact": 0, "structural": 1, "numeric": 2, "semantic": 2},
    "arrays": {"ordered": 0, None: 1, "by": 2, "unordered": 3, "each": 4, "subset": 4},
    "criticality": {"critical": 0, "high": 1, "medium": 2, "low": 3, None: 4},
}
"""How much passes with a word, by its key."""
_MORE_IS_STRICTER = {"pass_at", "borderline_at", "threshold", "pass_threshold", "min", "min_similarity"}
_MORE_IS_STRICTER |= {"at_least", "minimums", "min_tokens", "min_length", "min_score", "min_delta"}
_LESS_IS_STRICTER = {"max", "max_seconds", "max_usd", "max_ratio", "max_total", "max_input", "max_output"}
_LESS_IS_STRICTER |= {"max_tokens", "max_length", "tolerance", "retries", "max_delta"}
_EITHER_IS_ENOUGH = {"abs", "rel"}
_TRUE_IS_STRICTER = {"required", "case_sensitive", "strict"}
_FALSE_IS_STRICTER = model.FLAGS - _TRUE_IS_STRICTER | {"borderline_passes"}
_MORE_TEXTS_ARE_STRICTER = {"all", "none", "contains_all", "not_contains", "require_keys"}
_FEWER_TEXTS_ARE_STRICTER = {"any", "alternatives", "contains_any"}
"""What a number, a switch or a list of texts asks for, by the name of its key."""

_EXPECTATIONS = ("value", "wanted", "context", "method")
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
    """All the ways in which the baseline has changed, in the order of the file."""
    then, now = _outputs(before), _outputs(after)
    ways: list[Way] = []
    if then and not now:
        ways.append(Way(("baseline",), "no longer has a stored output: nothing is compared"))
    elif then:
        ways += _compare_outputs(before, after, (words_before, words))
        for name in ("seconds", "cost_usd"):  # rules may allow a multiple of these
            known = before.baseline, after.baseline
            took, takes = (getattr(one.observed, name, None) if one else None for one in known)
            if took is not None and (takes is None or takes > took):
                change = f"{took} -> {'nothing' if takes is None else takes}"
                ways.append(Way(("baseline", "observed", name), change, takes is None))
    ways += compare_recipes(before.current, after.current, ("current",))
    if before.current.kind == after.current.kind:
        ways += _compare_checks(before.current, after.current)
    if now:
        ways += _compare_rules(before, after)
    return [*ways, *compare_metadata(before.metadata, after.metadata)]


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
    is_whole = types <= {"exact", "structural", None}  # otherwise only numbers or meanings count
    has_subset = "subset" in after.comparison.arrays.values()
    for condition, (place, new) in now.items():
        if condition not in then:
            yield Way(place, "a new variant: another output is right in some places")
            continue
        old = then[condition][1]
        ignored = {
            (*root, *path)
            for text in (*before.comparison.ignore_fields, *_ignored_values(before.comparison))
            for root in roots(parse(text), old)
            for path, _ in find(parse(text), old["body"] if root else old)
        }
        for change in changes_of(old, new, ComparisonRules()).changes:
            parent, key = change.path[:-1], change.path[-1] if change.path else ""
            if any(change.at[:length] in ignored for length in range(len(change.at) + 1)):
                continue
            weakens = False
            if change.kind == "order":
                if not isinstance(value_at(new, change.path), list):
                    continue
                message = "expects its elements in another order"
            elif change.kind == "removed":
                message = f"is no longer expected: {short(change.before)}"
                rows = value_at(new, parent)
                if isinstance(key, int):  # the one row that is left may describe every element
                    weakens = has_subset or (len(rows) == 1 and describes_many(rows[0]))
                else:  # of headers and parts only those stated count
                    weakens = mode.allow_additional_fields or not is_whole or parent in form
            elif change.kind == "added":
                message = f"is expected now: {short(value_at(new, change.path))}"
                foreign = _placeholders_in(change.after) - _placeholders_in(value_at(old, change.at))
                weakens = isinstance(key, int) and bool(foreign)
            else:
                sides = change.before, value_at(new, change.path)
                templates = _compile(sides[0], words[0]), _compile(sides[1], words[1])
                message, weakens = _compare_leaves(*sides, *templates, is_whole=is_whole)
                if not message:
                    continue
            yield Way((*place, "output", *change.path), message, weakens)
    if then.keys() - now.keys():
        message = "a variant was removed: another output is right in some places"
        yield Way(("baseline", "variants"), message)


def _compare_leaves(old: Json, new: Json, before: Json, after: Json, *, is_whole: bool) -> tuple[str, bool]:
    """Return what became of a value, and whether it asks for less; no text if it only asks for more."""
    change = f"{short(old)} -> {short(new)}"
    if not isinstance(after, Placeholder | Inline):
        gone = isinstance(before, Placeholder | Inline) and binds(before)
        unseen = not is_whole and json_type(old) != json_type(new)
        return f"another expectation: {change}", gone or unseen or bool(_placeholders_in(new))
    if not isinstance(before, Placeholder | Inline):
        return f"a value became a placeholder: {change}", True
    if _is_only_other_text(before, after):
        return f"another expectation: {change}", False
    return ("", False) if is_narrower(before, after) else (f"another placeholder: {change}", True)


def _mode(baseline: model.Baseline) -> Mode:
    output = baseline.baseline.output if baseline.baseline else None
    return base_mode(baseline.comparison, output, baseline.current.kind, [])


def _ignored_values(rules: model.Rules) -> list[str]:
    return [*rules.ignore_values, *((rules.options.ignore_values if rules.options else None) or ())]


def _placeholders_in(value: Json) -> set[str]:
    return set(filter(has_marker, texts_in(value)))


def _compile(value: Json, words: PlaceholderContext) -> Json:
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


_TEXTS = ("any", "any_string", "any_nonempty_string")
"""What accepts less than one of these does so within a text, too: 007 is an integer there, and no number."""

_FORMATS = {format.name for format in FORMATS}
_WIDE: dict[str, Callable[[str], bool]] = {
    "any": lambda name: True,
    "any_string": lambda name: name in _FORMATS or types_of(name) == frozenset({"string"}),
    "any_nonempty_string": lambda name: name in _FORMATS,
    "any_number": lambda name: name in ("any_integer", "any_float", "number"),
}
"""Which other placeholders accept less than one of these without arguments."""

_BETWEEN = ("any_integer", "any_number", "any_float", "any_string", "any_nonempty_string", "any_token")
"""Placeholders whose arguments are a least and a most."""


def is_narrower(before: Placeholder | Inline, after: Placeholder | Inline) -> bool:
    """Whether a placeholder, or those in a text, are known to accept no more than before."""
    if isinstance(before, Inline):
        return (
            isinstance(after, Inline)
            and len(before.parts) == len(after.parts)
            and all(
                old.token.name in (new.token.name, *_TEXTS) and _asks_as_much(old.token, new.token)
                if isinstance(old, Placeholder) and isinstance(new, Placeholder)
                else old == new
                for old, new in zip(before.parts, after.parts, strict=True)
            )
        )
    if isinstance(after, Inline):
        return before.token.name in _TEXTS[:2] and not (before.token.args or before.token.key)
    return _asks_as_much(before.token, after.token)


def _asks_as_much(old: Token, new: Token) -> bool:
    takes_null = old.nullable or old.name == "any"
    if (new.optional and not old.optional) or (new.nullable and not takes_null):
        return False
    if old.key not in (None, new.key):
        return False
    if old.name != new.name:
        return not old.args and old.name in _WIDE and _WIDE[old.name](new.name)
    if old.name == "one_of":
        return set(new.args) <= set(old.args)
    if old.name in _BETWEEN:
        (low, high), (least, most) = ((*token.args, None, None)[:2] for token in (old, new))
        is_above = low is None or (least is not None and least >= low)
        return is_above and (high is None or (most is not None and most <= high))
    return old.args in ((), new.args)


def compare_recipes(old: Json, new: Json, path: Path) -> Iterator[Way]:
    """Where two parts of a recipe differ, down to the fields of its structs."""
    if is_same(old, new):
        return
    if isinstance(old, Struct) and old.__class__ is new.__class__:
        for name in old.__struct_fields__:
            at: Path = (*path, name)
            if at not in (CHECKS_AT, SCORES_AT):
                yield from compare_recipes(getattr(old, name), getattr(new, name), at)
    else:
        yield Way(path, "another request is sent")


def is_same(old: Any, new: Any) -> bool:
    """Whether two values are equal down to the types: true is not 1, and 5.0 is sent differently from 5."""
    return identical(plain(old), plain(new), ordered=False)


def compare_values(old: Any, new: Any, path: Path) -> Iterator[Way]:
    """Compare two values down to the fields of their structs and the keys of their mappings. A change
    that the table does not know (a pattern, a schema, a rubric) may ask for anything: it weakens."""
    if is_same(old, new):
        return
    key = path[-1]
    if isinstance(old, Struct) and old.__class__ is new.__class__ and key != "wanted":
        for name in old.__struct_fields__:
            yield from compare_values(getattr(old, name), getattr(new, name), (*path, name))
    elif isinstance(old, Mapping) and isinstance(new, Mapping) and key not in (*_EXPECTATIONS, "json_schema"):
        for name in {**old, **new}:
            yield from compare_values(old.get(name), new.get(name), (*path, str(name)))
    elif not _is_stricter(path, old, new):
        shown = str if _looseness(path) else short
        change = " -> ".join("nothing" if value is None else shown(value) for value in (old, new))
        if isinstance(old, list | tuple) and isinstance(new, list | tuple):
            signed = [f"-{short(one)}" for one in old if one not in new]
            change = " ".join([*signed, *(f"+{short(one)}" for one in new if one not in old)]) or change
        yield Way(path, change, key not in _EXPECTATIONS)


def _looseness(path: Path) -> Mapping[str | None, int]:
    """How loose each word is that may stand at a place of `comparison:` or `metadata:`."""
    key = "arrays" if path[:2] == ("comparison", "arrays") else str(path[-1])
    return _LOOSENESS.get(key, {}) if path[0] in ("comparison", "metadata") else {}


def _is_stricter(path: Path, old: Any, new: Any) -> bool:
    if table := _looseness(path):
        then, now = (table.get("by" if isinstance(word, model.By) else word) for word in (old, new))
        return then is not None and now is not None and now < then
    if isinstance(new, model.FieldRule):
        return new.type == "exact"
    keys = {str(key) for key in path}
    if isinstance(old, bool | None) and isinstance(new, bool):
        return bool(keys & (_TRUE_IS_STRICTER if new else _FALSE_IS_STRICTER))
    if is_number(new) and (old is None or is_number(old)):
        if path[-1] in _EITHER_IS_ENOUGH:
            return old is not None and new < old
        if keys & _MORE_IS_STRICTER:
            return old is None or new > old
        return bool(keys & _LESS_IS_STRICTER) and (old is None or new < old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        if path[-1] in _MORE_TEXTS_ARE_STRICTER:
            return all(text in new for text in old)
        return path[-1] in _FEWER_TEXTS_ARE_STRICTER and bool(new) and all(text in old for text in new)
    return False


def _compare_checks(before: Recipe, after: Recipe) -> Iterator[Way]:
    left = [check for check in before.checks if not any(is_same(check, one) for one in after.checks)]
    checks = before.checks
    new = [(n, one) for n, one in enumerate(after.checks) if not any(is_same(one, old) for old in checks)]
    for check in left:
        name = next(iter(check), "")
        known = next((pair for pair in new if name in pair[1]), None)
        if known is None:
            yield Way(CHECKS_AT, f"is no longer checked: {short(check)}")
        else:
            new.remove(known)
            for way in compare_values(check[name], known[1][name], (*CHECKS_AT, known[0], name)):
                yield Way(way.at[:-1], f"{name}: {way.message}", way.weakens)
    if before.scores is not None and after.scores is None:
        yield Way(SCORES_AT, "the text is no longer scored")
    elif before.scores is not None:
        yield from compare_values(before.scores, after.scores, SCORES_AT)


def _compare_rules(before: model.Baseline, after: model.Baseline) -> Iterator[Way]:
    old, new = before.comparison, after.comparison
    were_ignored, ignored = {*old.ignore_fields, *_ignored_values(old)}, _ignored_values(new)
    for key, texts, known in (
        ("ignore_fields", new.ignore_fields, old.ignore_fields),
        ("ignore_values", ignored, were_ignored),
    ):
        yield from (Way(("comparison", key), f"{text} is new") for text in texts if text not in known)
    stated: list[dict[str, Any]] = []
    was, mode = _mode(before), _mode(after)
    for rules, found in ((old, was), (new, mode)):
        flags = model.FLAGS - ({"normalize_newlines"} if was.type != mode.type else set())
        similar = ("min_similarity", "method") if was.type == mode.type == "semantic" else ()
        bounded = ((text, one) for text, one in rules.tolerance.items() if isinstance(one, model.Tolerance))
        tolerances = {text: one for text, one in bounded if text in new.tolerance or _ignores(new, text)}
        stated.append(
            {
                "type": found.type,
                "options": {name: getattr(found, name) for name in sorted(flags)},
                **{name: getattr(found, name) for name in similar},
                "require_keys": rules.require_keys,
                "tolerance": tolerances,
                "arrays": rules.arrays,
                "fields": rules.fields,
                "latency": rules.latency or model.Latency(),
                "cost": rules.cost or model.Cost(),
                "max_age": rules.max_age if old.max_age is not None else None,
            }
        )
    yield from compare_values(stated[0], stated[1], ("comparison",))


def _ignores(rules: model.Rules, text: str) -> bool:
    """Whether a path may be ignored, or fall under another tolerance, once it has none of its own."""
    ends = ("*", text.rpartition(".")[2])
    others = (*rules.ignore_fields, *_ignored_values(rules), *rules.tolerance)
    return any(one.endswith(ends) for one in others)


def compare_metadata(old: model.Metadata, new: model.Metadata) -> Iterator[Way]:
    if new.skip is not None and old.skip is None:
        yield Way(("metadata", "skip"), new.skip)
    yield from compare_values(old.criticality, new.criticality, ("metadata", "criticality"))
    signed = [f"-{tag}" for tag in sorted({*old.tags} - {*new.tags})]
    signed += [f"+{tag}" for tag in sorted({*new.tags} - {*old.tags})]
    if signed:
        yield Way(("metadata", "tags"), f"{' '.join(signed)}: they select what is run")


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
_MODULE = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def select_touched(
    project: Project, git: Git, rev: str, chosen: list[model.Baseline]
) -> tuple[list[model.Baseline], list[str]]:
    """Return those of the chosen baselines that have changed, or that use something changed, since the commit
    at which this checkout branched off `rev`; and notes on how that was determined."""
    if not chosen:
        return [], []
    start, notes = branched_at(git, rev, "--changed-since")
    settings = settings_changed(project, git, start)
    if general := sorted(settings.keys() - _IRRELEVANT_KEYS):
        message = f"{project.config_file or CONFIG_NAME}: {', '.join(general)} changed since {rev}"
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
    before = at_revision.case_digests(git, start, {baseline.source.file for baseline in in_changed_files})
    edited = {
        baseline.id
        for baseline in in_changed_files
        if before.get((baseline.source.file, baseline.id)) != records.case_digest(baseline.source.digest)
    }

    def is_touched(baseline: model.Baseline) -> bool:
        if baseline.id in edited or os.path.isabs(baseline.source.file):  # one outside is unknown to git
            return True
        used_files, used_folders = used_by(baseline, project)
        return not (files.isdisjoint(used_files) and folders.isdisjoint(used_folders))

    return list(filter(is_touched, chosen)), notes


def branched_at(git: Git, rev: str, option: str) -> tuple[str, list[str]]:
    """Return the commit at which this checkout branched off `rev`; `rev` itself, and a note, if git sees
    none."""
    commit = git.commit(rev, option)
    if (fork := git.fork(commit)) is not None:
        return fork, []
    return commit, [f"git sees no common ancestor with {rev} here: compared with {rev} itself"]


def used_by(baseline: model.Baseline, project: Project) -> tuple[list[str], list[str]]:
    """Return what a baseline may use: files, and folders with all their content, relative to the root; they
    need not exist. Each word of its recipe may be the name of a file."""
    recipe, config = baseline.current, project.config
    family, name = kind_of(recipe).asks(recipe)
    words, folders = {name, *_texts([recipe, baseline.comparison])}, []
    if family == "skills":
        folders = [f"{folder}/{name}" for folder in _SKILL_FOLDERS]
    groups = (config.commands, config.skills, config.models)
    entries = [entry for group in groups for word, entry in group.items() if word in words]
    folders += [os.path.normpath(one.folder) for one in entries if isinstance(one, Skill) and one.folder]
    modules = [module.split(".")[0] for entry in entries for module in _modules(entry)]
    starts = (*_starts(baseline), "")
    files = [
        *(
            name
            for text in (*baseline.output_files, *_expanded(_texts(recipe), project))
            for name in possible_files(text, starts)
        ),
        *(name for text in _texts(entries) for name in possible_files(text, ("",))),
        *(f"{module}.py" for module in modules),
    ]
    return files, [*folders, *modules]  # of a package any part may be imported


def _starts(baseline: model.Baseline) -> tuple[str, ...]:
    """Return the folders that file names may be relative to: its own, and where the program runs."""
    folder = os.path.dirname(baseline.source.file)
    cwd = getattr(baseline.current.input, "cwd", None)
    return (folder, os.path.join(folder, cwd)) if cwd else (folder,)


def _modules(entry: Any) -> Iterator[str]:
    """Yield the Python modules that an entry of the configuration runs."""
    if target := getattr(entry, "python", None):
        yield target.partition(":")[0]
    argv = getattr(entry, "argv", None) or getattr(entry, "command", None)
    for flag, word in pairwise(entry if isinstance(entry, list) else argv or []):
        if flag == "-m" and _MODULE.fullmatch(word):
            yield word


def texts_at(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text in a part of a recipe or of the configuration that may name a file, with its place as
    far as the record has a key for it."""
    if isinstance(value, str):
        if 0 < len(value) <= _LONGEST_NAME and "\n" not in value and "\0" not in value:
            yield at, value
    elif isinstance(value, Struct):
        for name, item in asdict(value).items():
            yield from texts_at(item, (*at, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_at(item, at)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from texts_at(item, (*at, number) if isinstance(item, Struct) else at)


def _texts(value: Json) -> Iterator[str]:
    return (text for _, text in texts_at(value, ()))


def settings_changed(project: Project, git: Git, commit: str) -> dict[str, set[str]]:
    """Return the keys of the configuration that have changed, with the names below them."""
    try:
        before = at_revision.config(git, commit, project.config_file or CONFIG_NAME) or Config()
    except InvalidInput:
        return {"what could not be read then": set()}
    changed = {}
    for key, old in asdict(before).items():
        new = getattr(project.config, key)
        if old != new:
            both = isinstance(old, dict) and isinstance(new, dict)
            names = {**old, **new} if both else ()
            changed[key] = {name for name in names if old.get(name) != new.get(name)}
    return changed


def _expanded(texts: Iterable[str], project: Project) -> Iterator[str]:
    """Expand the project's variables in texts; a text with values that only a run has names no file."""
    for text in texts:
        with suppress(BaselinekitError):
            value = project.scope.expand(text, ()) if "{{" in text else text
            if isinstance(value, str):
                yield value


def possible_files(text: str, starts: Sequence[str]) -> Iterator[str]:
    """Yield the files that a text may mean: `list.txt`, or what follows the `=` in `--config=list.txt`."""
    for word in dict.fromkeys((text, text.partition("=")[2])):
        if word and not os.path.isabs(word):
            yield from (os.path.normpath(os.path.join(start, word)) for start in starts)


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
    old_folders = [old.baselines] if isinstance(old.baselines, str) else old.baselines
    folders = list(dict.fromkeys([*project.folders, *old_folders]))
    before, unread = at_revision.baselines(git, start, folders)
    notes += [f"{name} could not be read as it was at {ref}: what it held counts as added" for name in unread]
    after, _ = load_partly(project, ())
    if any(at_revision.is_baseline(name, folders) for name in git.left_out()):
        message = "--base compares all baselines, and this sparse checkout leaves some out"
        raise InvalidInput(Problem("BK508", message, "git sparse-checkout disable"))
    words_then, changed = replace(project.words, own=old.placeholders), git.changed_since(start)

    def ways_of(old: model.Baseline, new: model.Baseline) -> list[Way]:
        ways = weakened(old, new, words_then, project.words)
        return ways + _changed_files(new, project, changed) if changed else ways

    def place_of(baseline: model.Baseline, at: Path) -> Place:
        return locate(baseline.source, at, project.root)

    former, present = ({one.id: _approval(one) for one in group} for group in (before, after))
    changes = config_changes
    for change in changes_between(before, after, ways_of, place_of):
        approval = present.get(change.id)
        if approval is not None and approval != former.get(change.id):
            change = replace(change, approved_by=approval[1], reason=approval[2])
        changes.append(change)
    return BaselineChanges(ref=ref, commit=start, strict=strict, notes=tuple(notes), changes=tuple(changes))


def _approval(baseline: model.Baseline) -> tuple[str | None, str | None, str | None] | None:
    known = baseline.baseline
    return (known.captured_at, known.approved_by, known.reason) if known else None


def config_then(project: Project, git: Git, commit: str) -> tuple[list[BaselineChange], Config]:
    """Return what has changed in the configuration, and the old configuration."""
    name = project.config_file or CONFIG_NAME
    try:
        old = at_revision.config(git, commit, name)
    except InvalidInput:
        return [BaselineChange(name, "loosened", name, None, ("it could not be read then",))], Config()
    changed = settings_changed(project, git, commit) if old else {}
    ways = []
    for key in _RELEVANT_KEYS:
        if key in changed:
            names = ", ".join(sorted(changed[key]))
            ways.append(f"{key} is now a different one" + (f": {names}" if names else ""))
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


def _changed_files(baseline: model.Baseline, project: Project, changed: Collection[str]) -> list[Way]:
    """Return the changed files that may be part of its request: uploads, templates, inputs, rubrics, words of
    a command. The program that is run, and a SKILL.md, are what is tested."""
    recipe = baseline.current
    question: Json = kind_of(recipe).question(recipe)
    parts = ((question, INPUT), (recipe.scores, (*EXECUTION, "scores")))
    places = {
        name: path
        for part, at in parts
        for path, text in texts_at(part, at)
        for value in _expanded([text], project)
        for name in possible_files(value, _starts(baseline))
    }
    named = ((name, at) for name, at in places.items() if name in changed)
    return [Way(at, f"another request is sent: {name} changed") for name, at in named]
