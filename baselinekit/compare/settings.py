"""What a file's `comparison:` says, ready to use: the mode of the whole and the path rules, rooted in the
form of the output."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from baselinekit.compare.rules import Mode, Rule, RuleKind
from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.baselines import BOUNDS, FLAGS, FieldRule, Rules, Tolerance, Type, method_problems
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import Json, Path, json_type
from baselinekit.tree.equality import is_number
from baselinekit.tree.paths import Pattern, parse
from baselinekit.tree.segments import Wild

Form = dict[Path, RecipeKind | Literal["headers", "names"]]
"""What stands where in an output: a whole response of a kind, the headers in one, or responses by name."""


def form_of(recipe: Recipe) -> Form:
    """A response, what a flow collects by name, or nothing in particular."""
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


def check_form(output: Json, form: Form) -> Iterator[Problem]:
    """Whether a stored output has the form that its recipe gives."""
    for path, kind in form.items():
        if isinstance(kind, str):
            continue
        noun, parts = kind.noun, kind.parts
        where = ("baseline", "output", *path)
        stated = output.get(path[0]) if path and isinstance(output, dict) else output
        if path and isinstance(output, dict) and path[0] not in output:
            what = f"the answer of {path[0]!r} is missing: `collect` names it"
            yield Problem("BK225", what, f"add {path[0]}: {{{parts[0]}: …}}", at=where)
            continue
        if not isinstance(stated, dict):
            what = f"a {noun} is an object with {', '.join(parts)}, not {json_type(stated)}"
            yield Problem("BK225", what, f"state at least one of them: {parts[0]}: …", at=where)
            continue
        for key in stated:
            if key not in parts:
                hint = nearest(key, parts) or f"it has {', '.join(parts)}"
                yield Problem("BK225", f"{key!r} is not a part of a {noun}", hint, at=(*where, key))


def _spelled(pattern: Pattern, output: Json, form: Form) -> Pattern:
    """The path with the names of headers as the stored output spells them."""
    for path, kind in form.items():
        size = len(path)
        name = pattern.segments[size] if len(pattern.segments) > size else None
        if kind == "headers" and pattern.segments[:size] == path and isinstance(name, str):
            stored = output
            for key in path:
                stored = stored.get(key) if isinstance(stored, dict) else None
            same = [key for key in stored or () if key.casefold() == name.casefold()]
            if same:
                segments = (*path, same[0], *pattern.segments[size + 1 :])
                return replace(pattern, segments=segments)
    return pattern


_DEFAULT = replace(parse("**"), text="*", last=True)
"""The path of the default tolerance. In a response it is for the body's numbers, not for the status. Every
other path is more exact."""


def base_mode(rules: Rules, output: Json, kind: str, problems: list[Problem]) -> Mode:
    """The mode at the root: the type that the file states, or the one that goes with the output."""
    flags = {}
    for name, value in rules.tolerance.items():
        if not isinstance(value, bool):
            continue
        if name in FLAGS:
            flags[name] = value
        else:
            hint = nearest(name, FLAGS) or "a path takes a mapping: {min_delta, max_delta, abs, rel}"
            what = f"{name!r} is not an option of a comparison"
            problems.append(Problem("BK202", what, hint, at=("comparison", "tolerance", name)))
    type = rules.type or default_type(output, kind)
    for name in ("min_similarity", "method"):
        if getattr(rules, name) is not None and type != "semantic":
            what = f"{name} belongs to type: semantic"
            hint = "set the type, or leave it out"
            problems.append(Problem("BK203", what, hint, at=("comparison", name)))
    if type == "semantic" or rules.fields:
        problems += method_problems(rules)
    return Mode().changed(
        type, rules.options, flags, min_similarity=rules.min_similarity, method=rules.method
    )


def field_mode(rule: FieldRule, where: Rule, outer: Mode) -> Mode:
    """The mode below a `fields:` rule: the outer one, with its own type, switches and tolerance."""
    type = rule.type or outer.type
    flags = {
        name: value for name, value in rule.tolerance.items() if name in FLAGS and isinstance(value, bool)
    }
    mode = outer.changed(type, rule.options, flags, min_similarity=rule.min_similarity, method=rule.method)
    bounds = field_tolerance(rule)
    if bounds is not None or type == "exact":  # exact means exact, whatever is tolerated around it
        mode = mode.tolerating(bounds, where.text, where.pattern.specificity)
    return mode


def field_tolerance(rule: FieldRule) -> Tolerance | None:
    """A field's tolerance is written without a path: `{abs: 0.05}`."""
    stated = {
        name: value
        for name, value in rule.tolerance.items()
        if name in BOUNDS and not isinstance(value, Tolerance | bool)
    }
    return Tolerance(**stated) if stated else None


def path_rules(
    rules: Rules, output: Json, form: Form, problems: list[Problem]
) -> tuple[list[Rule], list[tuple[Pattern, Path]]]:
    """The path rules, each from its root, and what `require_keys` asks for."""
    made: list[Rule] = []
    required: list[tuple[Pattern, Path]] = []
    for kind, text, at, said in _stated(rules):
        try:
            pattern = _DEFAULT if kind == "tolerance" and text == "*" else parse(text)
            if isinstance(said, Tolerance):
                problems += _bounds_problems(said, at)
            elif isinstance(said, FieldRule):
                problems += _field_problems(said, at)
            starts = _roots(pattern, output, form)
            rooted = [replace(pattern, segments=(*root, *pattern.segments)) for root in starts]
            if kind == "require_keys":
                required.append((rooted[0], at))
                continue
            bounds = {} if said is None else {kind: said}
            made += [Rule(kind, text, _spelled(path, output, form), at, **bounds) for path in rooted]
        except InvalidInput as error:
            problems += [replace(problem, at=at) for problem in error.problems]
    return made, required


def _stated(rules: Rules) -> Iterator[tuple[RuleKind | Literal["require_keys"], str, Path, Any]]:
    """Each rule with a path: its kind, the path, where it stands in the file, and what else it says."""
    ignoring: tuple[RuleKind, ...] = ("ignore_fields", "ignore_values")
    for kind in ignoring:
        for number, text in enumerate(getattr(rules, kind)):
            yield kind, text, ("comparison", kind, number), None
    for text, bounds in rules.tolerance.items():
        if isinstance(bounds, Tolerance):
            yield "tolerance", text, ("comparison", "tolerance", text), bounds
    for text, how in rules.arrays.items():
        yield "arrays", text, ("comparison", "arrays", text), how
    for text, rule in rules.fields.items():
        yield "fields", text, ("comparison", "fields", text), rule
    for number, text in enumerate(rules.require_keys):
        yield "require_keys", text, ("comparison", "require_keys", number), None


def _field_problems(rule: FieldRule, at: Path) -> Iterator[Problem]:
    for name, value in rule.tolerance.items():
        place = (*at, "tolerance", name)
        if isinstance(value, Tolerance) or name not in FLAGS.union(BOUNDS):
            what = f"{name!r} cannot stand here: a field's tolerance takes min_delta, max_delta, abs and rel"
            yield Problem("BK202", what, nearest(name, FLAGS.union(BOUNDS)), at=place)
        elif (name in FLAGS) != isinstance(value, bool):
            what = f"{name} takes {'true or false' if name in FLAGS else 'a number'}"
            yield Problem("BK202", what, at=place)
    if bounds := field_tolerance(rule):
        yield from _bounds_problems(bounds, (*at, "tolerance"))


def _bounds_problems(bounds: Tolerance, at: Path) -> Iterator[Problem]:
    """Bounds that no number could ever keep."""
    stated = {name: value for name in BOUNDS if (value := getattr(bounds, name)) is not None}
    for name, value in stated.items():
        if not is_number(value) or (name in ("abs", "rel") and value < 0):
            yield Problem("BK205", f"{name} is {value}, which no change can satisfy", at=(*at, name))
    low, high = stated.get("min_delta"), stated.get("max_delta")
    if low is not None and high is not None and low > high:
        what = f"min_delta {low} is more than max_delta {high}: no change can satisfy both"
        yield Problem(
            "BK205", what, "delta is current minus baseline: a fall is negative", at=(*at, "min_delta")
        )


def _roots(pattern: Pattern, output: Json, form: Form) -> list[Path]:
    """From where a path starts, decided on the stored output alone."""
    kind = form.get(())
    if not isinstance(kind, RecipeKind) or not kind.paths_start_in_answer:
        return [()]
    answer = (kind.answer,)
    if pattern.last:
        return [answer]
    found = kind.starts(pattern, output)
    nameless = not pattern.absolute and {*pattern.segments} == {Wild.ANY}
    if len(found) == 2 or (found and nameless):  # a response has parts, whatever is in its body
        what = f"{pattern.text!r} is both in the {kind.noun} and in its {kind.answer}"
        raise InvalidInput(Problem("BK204", what, f"write {kind.answer}.{pattern.text} or $.{pattern.text}"))
    if found:
        return found
    return [()] if pattern.segments[0] in kind.parts else [answer, ()]


def default_type(output: Json, kind: str) -> Type:
    """Texts and bytes are compared exactly, JSON by its structure. Of a response its body decides, of a
    program what it printed."""
    part = KINDS[kind].answer
    told = output.get(part) if part and isinstance(output, dict) else output
    is_hash = isinstance(told, dict) and told.keys() == {"sha256", "size"}
    return "exact" if isinstance(told, str) or is_hash else "structural"
