"""The entry to matching/: the rules and the stored output of a baseline are read, and each observation is
compared in one walk."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_args

from baselinekit.errors import InvalidInput, Problem
from baselinekit.kinds.bodies import is_byte_hash
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.rules import Form, Mode, Rule, RuleKind, State, field_tolerance, start
from baselinekit.matching.walk import Stored, Templates, Walk, WalkPlace
from baselinekit.model import baselines as model
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.results import ReportedDifference
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import holds_marker
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import binds
from baselinekit.secrets.variables import Redactor, as_text
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import is_number
from baselinekit.values.paths import Pattern, parse, suggest_path
from baselinekit.values.places import Wild, value_or_absent
from baselinekit.values.texts import count_noun

_VARIABLE = lazy_pattern(r"<<var\(([A-Za-z_][\w.-]*)\)>>")

# Reads a file's `comparison:`: the mode of the whole output and the path rules, rooted in the form of the
# output.


def form_of(recipe: Recipe) -> Form:
    """The form of a recipe's output: a response, the responses that a flow collects by name, or no form."""
    kind = kind_of(recipe)
    if not kind.parts:
        return {}
    places = kind.responses(recipe)
    form: Form = {} if () in places else {(): "names"}
    for place in places:
        form[place] = kind
        if kind.headers:
            form[*place, kind.headers] = "headers"
    return form


def check_form(output: Json, form: Form, output_path: Path) -> Iterator[Problem]:
    """The problems of a stored output that does not have the form that its recipe gives."""
    for path, kind in form.items():
        if isinstance(kind, str):
            continue
        where = (*output_path, *path)
        response = value_or_absent(output, path)
        if not isinstance(response, dict):
            message = f"a {kind.noun} is an object with {', '.join(kind.parts)}, not {json_type(response)}"
            if response is ABSENT:
                message = f"the answer of {path[0]!r} is missing: `collect` names it"
            yield Problem("BK225", message, f"state at least one of them: {kind.parts[0]}: …", at=where)
        for key in response if isinstance(response, dict) else ():
            if key not in kind.parts:
                hint = f"it has {', '.join(kind.parts)}"
                yield Problem("BK225", f"{key!r} is not a part of a {kind.noun}", hint, at=(*where, key))


def _spelled(pattern: Pattern, output: Json, form: Form) -> Pattern:
    """The path, with header names spelled as in the stored output."""
    for path, kind in form.items():
        name = pattern.segments[len(path)] if len(pattern.segments) > len(path) else None
        if kind == "headers" and pattern.segments[: len(path)] == path and isinstance(name, str):
            headers = value_or_absent(output, path)
            for key in headers if isinstance(headers, dict) else ():
                if key.casefold() == name.casefold():
                    return replace(pattern, segments=(*path, key, *pattern.segments[len(path) + 1 :]))
    return pattern


_DEFAULT = replace(parse("**"), text="*", last=True)
"""The path of the default tolerance. In a response it applies to the numbers of the body, not to the status.
Every other path is more exact."""


def base_mode(rules: model.Rules, output: Json, kind: str, problems: list[Problem]) -> Mode:
    """The mode at the root: with the type that the file states, or the default type for the output."""
    type = rules.type or default_type(output, kind)
    for name in ("min_similarity", "method"):
        if getattr(rules, name) is not None and type != "semantic":
            message = f"{name} belongs to type: semantic"
            hint = "set the type, or leave it out"
            problems.append(Problem("BK203", message, hint, at=("comparison", name)))
    return Mode().changed(type, rules)


def path_rules(
    rules: model.Rules, output: Json, form: Form, problems: list[Problem]
) -> tuple[list[Rule], list[tuple[Pattern, Path]]]:
    """The path rules, each from its root, and the paths that `require_keys` requires."""
    compiled_rules: list[Rule] = []
    required: list[tuple[Pattern, Path]] = []
    for kind, text, at, setting in _iterate_rules(rules):
        try:
            pattern = _DEFAULT if kind == "tolerance" and text == "*" else parse(text)
            if isinstance(setting, model.Tolerance):
                problems += bounds_problems(setting, at)
            elif isinstance(setting, model.FieldRule) and (bounds := field_tolerance(setting)):
                problems += bounds_problems(bounds, (*at, "tolerance"))
            if kind == "arrays" and not pattern.segments and () in form and isinstance(output, dict):
                message = f"`$` is the whole output, which is not an array ({json_type(output)})"
                problems.append(Problem("BK203", message, "name the array, such as `$.body`", at=at))
                continue
            starts = _find_roots(pattern, output, form)
            rooted = [replace(pattern, segments=(*root, *pattern.segments)) for root in starts]
            if kind == "require_keys":
                required.append((rooted[0], at))
                continue
            compiled_rules += [Rule(kind, text, _spelled(path, output, form), at, setting) for path in rooted]
        except InvalidInput as error:
            problems += [replace(problem, at=at) for problem in error.problems]
    return compiled_rules, required


def _iterate_rules(rules: model.Rules) -> Iterator[tuple[RuleKind, str, Path, Any]]:
    """Yield each rule with a path: its kind, the path, its place in the file, and its further setting."""
    for kind in get_args(RuleKind):
        section = getattr(rules, kind)
        for key, value in section.items() if isinstance(section, dict) else enumerate(section):
            if not isinstance(section, dict):
                yield kind, value, ("comparison", kind, key), None
            elif kind != "tolerance" or isinstance(value, model.Tolerance):
                yield kind, str(key), ("comparison", kind, key), value


def bounds_problems(bounds: model.Tolerance, at: Path) -> Iterator[Problem]:
    """The problems of bounds that no number could ever satisfy."""
    limits = {name: value for name in model.BOUNDS if (value := getattr(bounds, name)) is not None}
    for name, value in limits.items():
        if not is_number(value) or (name in ("abs", "rel") and value < 0):
            yield Problem("BK108", f"{name} is {value}, which no change can satisfy", at=(*at, name))
    low, high = limits.get("min_delta"), limits.get("max_delta")
    if low is not None and high is not None and low > high:
        message = f"min_delta {low} is more than max_delta {high}: no change can satisfy both"
        yield Problem("BK108", message, "a delta is current minus baseline", at=(*at, "min_delta"))


def _find_roots(pattern: Pattern, output: Json, form: Form) -> list[Path]:
    """The places from which a path starts, decided by the stored output alone."""
    kind = form.get(())
    if not isinstance(kind, RecipeKind) or not kind.paths_start_in_answer:
        return [()]
    answer = (kind.answer,)
    if pattern.last:
        return [answer]
    roots = kind.starts(pattern, output)
    nameless = not pattern.absolute and {*pattern.segments} == {Wild.ANY}
    if len(roots) == 2 or (roots and nameless):  # wildcards alone match the parts of every response
        message = f"{pattern.text!r} is both in the {kind.noun} and in its {kind.answer}"
        hint = f"write {kind.answer}.{pattern.text} or $.{pattern.text}"
        raise InvalidInput(Problem("BK204", message, hint))
    if roots:
        return roots
    return [()] if pattern.segments[0] in kind.parts else [answer, ()]


def default_type(output: Json, kind: str) -> model.Type:
    """The type of comparison: exact for texts and bytes, structural for JSON. The body of a response decides,
    or the printed output of a program."""
    part = KINDS[kind].answer
    answer = output.get(part) if part and isinstance(output, dict) else output
    return "exact" if isinstance(answer, str) or is_byte_hash(answer) else "structural"


# Reads a baseline's rules and output, and compares each observation in one walk.


_NO_ANSWERS: model.Answers = {}


class Matcher(Struct):
    """One baseline's rules and output, ready to be walked."""

    mode: Mode
    rules: model.Rules
    known: model.Known
    path_rules: tuple[Rule, ...]
    required: tuple[tuple[Pattern, Path], ...]
    start: State
    stored: Stored

    def compare(self, observation: Observation, answers: model.Answers = _NO_ANSWERS) -> model.Comparison:
        """Compare an observation in one walk. An output that cannot be judged (a limit) raises CannotReplay
        and never gives a verdict."""
        walk = self.new_walk(answers)
        resolved = self.walk(walk, observation.output)
        further = []
        if (lost := observation.loss) is not None:
            calls: Json = [{"name": call.name, "input": call.input} for call in observation.tool_calls or ()]
            further = [model.Difference(("tool_calls",), "extra", ABSENT, calls, (), "collect", lost)]
        if self.required or self.limited:
            from baselinekit.matching import limits  # most baselines state none

            missing = {difference.path for difference in walk.differences if difference.kind == "missing"}
            headers = [path for path, kind in self.stored.form.items() if kind == "headers"]
            absent = limits.missing_keys(self.required, observation.output, headers)
            further += [
                *(difference for difference in absent if difference.path not in missing),
                *limits.exceeded(self.rules, self.known, observation),
                *limits.too_old(self.rules, self.known, self.stored.templates.words.now),
            ]
        differences, count = (*walk.differences, *further), walk.count + len(further)
        reports, questions = tuple(self._reports(walk)), tuple(walk.questions)
        return model.Comparison(differences, count, resolved, reports, questions)

    def new_walk(self, answers: model.Answers = _NO_ANSWERS) -> Walk:
        return Walk(_arrays, _wording, self.stored, answers, hits={*self.stored.hits})

    def walk(self, walk: Walk, actual: Json) -> Json:
        """Walk over an actual output; return it as it is resolved."""
        return walk.value(self.known.output, actual, WalkPlace(self.mode, self.start, self.start))

    @property
    def type(self) -> model.Type:
        return self.mode.type

    @property
    def is_plain(self) -> bool:
        """Whether any other scalar is reported as a difference at its place: all of the output is literal,
        and the rules leave nothing out."""
        rules, plain = self.rules, self.type in ("exact", "structural")
        relaxed = rules.options or rules.tolerance or self.path_rules
        return plain and not relaxed and not holds_marker(self.known.output)

    @property
    def limited(self) -> bool:
        """Whether there are limits besides the output."""
        return any((self.rules.latency, self.rules.cost, self.rules.max_age is not None))

    @property
    def hits(self) -> frozenset[Rule]:
        """The rules that matched something in the stored output."""
        return frozenset(self.stored.hits)

    @property
    def arrays(self) -> dict[Path, str]:
        """The arrays that have a mode of their own, by path."""
        return self.stored.arrays

    def _reports(self, walk: Walk) -> Iterator[model.RuleReport]:
        matched = {rule.at for rule in walk.hits}
        stale = {rule.at: rule for rule in self.path_rules if rule.at not in matched}
        for rule in stale.values():
            suggestion = suggest_path(rule.pattern, self.known.output)
            message = f"{rule.kind}: {rule.text} matched nothing" + (f": {suggestion}" if suggestion else "")
            yield model.RuleReport(rule.text, "stale", message, rule.at)
        for rule, change in walk.hidden.items():
            message = f"{rule.kind}: {rule.text} hid a change of type: {change}"
            yield model.RuleReport(rule.text, "hid", message, rule.at)
        if number := self.stored.uncompared:
            message = f"{count_noun(number, 'value')} other than numbers: not compared (type: numeric)"
            yield model.RuleReport("numeric", "uncompared", message, ("comparison", "type"))
        if not walk.count and any(question.method == "embedding" for question in walk.answers):
            yield model.RuleReport("embedding", "advice", model.TOPIC_ONLY, ("comparison", "method"))
        if self.limited:
            from baselinekit.matching import limits

            yield from limits.unchecked_ratios(self.rules, self.known)
            yield from limits.age_reports(self.rules, self.known, self.stored.templates.words.now)


def compile_baseline(baseline: model.Baseline, words: PlaceholderContext) -> Matcher:
    """Compile a baseline. Everything that can be wrong with its rules or its stored output is reported here,
    all at once."""
    known = baseline.baseline
    if known is None or known.output is ABSENT:
        message = f"{baseline.id} has no stored output yet"
        hint = f"baselinekit capture {baseline.source.file}"
        raise InvalidInput(Problem("BK223", message, hint, at=()))
    output, rules, form = known.output, baseline.comparison, form_of(baseline.current)
    stored = Stored(Templates(words), form, baseline.output_path)
    problems = stored.problems
    problems += check_form(output, form, stored.path)
    mode = base_mode(rules, output, baseline.current.kind, problems)
    if rules.cost is not None and kind_of(baseline.current).asks_models == "never":
        message = f"`cost` has no effect on a recipe of type {baseline.current.kind}"
        problems.append(Problem("BK203", message, "remove it", at=("comparison", "cost")))
    compiled_rules, required = path_rules(rules, output, form, problems)
    at_root = start(compiled_rules)
    stored.look(output, mode, at_root)
    stored.has_bindings = any(map(binds, stored.templates.known.values()))
    states_nothing = bool(form) and output in ({}, {"headers": {}})
    unchecked = not stored.is_checked and (stored.hits or stored.uncompared or states_nothing)
    limited = rules.latency is not None or rules.cost is not None
    if not problems and unchecked and not required and not limited:
        reason = "the output contains nothing to compare" if states_nothing else "the rules ignore everything"
        message = f"{reason}: this baseline could never fail"
        problems.append(Problem("BK224", message, "leave something to compare", at=("comparison",)))
    if problems:
        raise InvalidInput(*problems)
    return Matcher(mode, rules, known, tuple(compiled_rules), tuple(required), at_root, stored)


def is_limit(difference: model.Difference) -> bool:
    """Whether a difference is about latency, cost or the age of the baseline, and not about the output."""
    rule = difference.rule or ""
    return rule == "max_age" or rule.startswith(("latency.", "cost.", "max_age."))


def reported(
    differences: Iterable[model.Difference],
    file: str,
    output_path: Path,
    redactor: Redactor | None = None,
    variables: Mapping[str, Json] = MappingProxyType({}),
) -> Iterator[ReportedDifference]:
    """Yield the differences as they are reported: masked by the redactor if there is one, and with the values
    of variables in the expected texts. Their lines are found after all writing is done."""

    def value_of(match: re.Match[str]) -> str:
        return as_text(variables.get(match[1], match[0]))

    for found in differences:
        expected, actual, note, at = found.expected, found.actual, found.note, (*output_path, *found.at)
        if found.rule and found.rule.startswith("require_keys"):
            at = found.at
        elif found.rule and is_limit(found):
            at = ("comparison", *found.rule.split("."))
        if isinstance(expected, str) and isinstance(actual, str):
            expected = _VARIABLE.sub(value_of, expected)
        if redactor is not None:
            expected, actual = (redactor.mask_value(value, found.path) for value in (expected, actual))
            note = redactor.mask_note(note, found.expected, found.actual)
        yield ReportedDifference(found.path, found.kind, expected, actual, file, None, found.rule, note, at)


# Most outputs of a run need neither of these modules.


def _arrays(*given: Any) -> Json:
    from baselinekit.matching.arrays import compare

    return compare(*given)


def _wording(*given: Any) -> Json:
    from baselinekit.matching.semantic import compare_wording

    return compare_wording(*given)
