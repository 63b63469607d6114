"""What a file's `comparison:` says, ready to use: the mode of the whole and the path rules, rooted."""

from collections.abc import Iterator

from baselinekit.compare.mode import FLAGS, Mode, mode_of
from baselinekit.compare.rules import Rule
from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.baselines import FieldRule, Rules, Tolerance
from baselinekit.model.values import Json, Path
from baselinekit.paths import Pattern, parse, roots

_BODY = ("body",)


def base_mode(rules: Rules, output: Json, problems: list[Problem]) -> Mode:
    """The mode at the root. Texts are compared exactly unless the file says otherwise."""
    flags = {}
    for name, value in rules.tolerance.items():
        if not isinstance(value, bool):
            continue
        if name in FLAGS:
            flags[name] = value
        else:
            mend = nearest(name, FLAGS) or "a path takes a mapping: {min_delta, max_delta, abs, rel}"
            what = f"{name!r} is no switch of a comparison"
            problems.append(Problem("BK202", what, mend, at=("comparison", "tolerance", name)))
    type = rules.type or ("exact" if isinstance(output, str) else "structural")
    if rules.min_similarity is not None and type != "semantic":
        what = "min_similarity belongs to type: semantic"
        problems.append(
            Problem("BK203", what, "set the type, or leave it out", at=("comparison", "min_similarity"))
        )
    return mode_of(type, rules.options, flags, min_similarity=_similarity(rules.min_similarity))


def field_mode(rule: FieldRule, where: Rule, outer: Mode) -> Mode:
    """The mode below a `fields:` rule: its own type's defaults, its own switches and tolerance."""
    flags = {
        name: value for name, value in rule.tolerance.items() if name in FLAGS and isinstance(value, bool)
    }
    mode = mode_of(
        rule.type or outer.type, rule.options, flags, min_similarity=_similarity(rule.min_similarity)
    )
    bounds = field_tolerance(rule)
    return mode.tolerating(bounds, where.text, where.pattern.specificity) if bounds else mode


def field_tolerance(rule: FieldRule) -> Tolerance | None:
    """A field's tolerance is written without a path: `{abs: 0.05}`."""
    stated = {
        k: v for k, v in rule.tolerance.items() if k not in FLAGS and not isinstance(v, Tolerance | bool)
    }
    return Tolerance(**stated) if stated else None


def _similarity(value: float | None) -> float | None:
    return None if value is None else float(value)


def path_rules(
    rules: Rules, output: Json, kind: str, problems: list[Problem]
) -> tuple[list[Rule], list[tuple[Pattern, Path]]]:
    """The path rules, each from its root, and what `require_keys` asks for."""
    made: list[Rule] = []
    required: list[tuple[Pattern, Path]] = []
    for rule in _stated(rules, problems):
        try:
            made += [_rooted(rule, root) for root in _roots(rule, output, kind)]
        except InvalidInput as error:
            problems += [Problem(p.code, p.what, p.mend, at=rule.at) for p in error.problems]
    for number, text in enumerate(rules.require_keys):
        at: Path = ("comparison", "require_keys", number)
        try:
            pattern = parse(text)
            starts = _roots(Rule("ignore_fields", text, pattern, at), output, kind)
            required.append((_under(pattern, starts[0]), at))
        except InvalidInput as error:
            problems += [Problem(p.code, p.what, p.mend, at=at) for p in error.problems]
    return made, required


def _stated(rules: Rules, problems: list[Problem]) -> Iterator[Rule]:
    for kind in ("ignore_fields", "ignore_values"):
        for number, text in enumerate(getattr(rules, kind)):
            if pattern := _parsed(text, ("comparison", kind, number), problems):
                yield Rule(kind, text, pattern, ("comparison", kind, number))
    for text, bounds in rules.tolerance.items():
        at: Path = ("comparison", "tolerance", text)
        if isinstance(bounds, Tolerance) and (
            pattern := _parsed("**" if text == "*" else text, at, problems)
        ):
            yield Rule("tolerance", text, pattern, at, tolerance=bounds)
    for text, how in rules.arrays.items():
        if pattern := _parsed(text, ("comparison", "arrays", text), problems):
            yield Rule("arrays", text, pattern, ("comparison", "arrays", text), arrays=how)
    for text, rule in rules.fields.items():
        at = ("comparison", "fields", text)
        if pattern := _parsed(text, at, problems):
            problems += _field_problems(rule, at)
            yield Rule("fields", text, pattern, at, fields=rule)


def _field_problems(rule: FieldRule, at: Path) -> Iterator[Problem]:
    known = {"min_delta", "max_delta", "abs", "rel"}
    for name, value in rule.tolerance.items():
        place = (*at, "tolerance", name)
        if isinstance(value, Tolerance) or (name not in known and name not in FLAGS):
            what = f"{name!r} cannot stand here: a field's tolerance takes min_delta, max_delta, abs and rel"
            yield Problem("BK202", what, nearest(name, known | FLAGS), at=place)
        elif (name in FLAGS) != isinstance(value, bool):
            yield Problem(
                "BK202", f"{name} takes {'true or false' if name in FLAGS else 'a number'}", at=place
            )


def _parsed(text: str, at: Path, problems: list[Problem]) -> Pattern | None:
    try:
        return parse(text)
    except InvalidInput as error:
        problems += [Problem(p.code, p.what, p.mend, at=at) for p in error.problems]
        return None


def _roots(rule: Rule, output: Json, kind: str) -> list[Path]:
    """From where a path starts, decided on the stored output alone."""
    if kind != "http":
        return [()]
    if rule.text == "*":
        return [_BODY]  # the default tolerance is for the body's numbers, not for the status
    found = roots(rule.pattern, output)
    if len(found) == 2:
        raise InvalidInput(
            Problem(
                "BK204",
                f"{rule.text!r} is both in the response and in its body",
                f"write body.{rule.text} or $.{rule.text}",
            )
        )
    if found:
        return found
    return [_BODY, ()] if not _outside_body(rule.pattern) else [()]


def _outside_body(pattern: Pattern) -> bool:
    return pattern.segments[0] in ("status", "headers", "body")


def _rooted(rule: Rule, root: Path) -> Rule:
    pattern = _under(rule.pattern, root)
    return Rule(rule.kind, rule.text, pattern, rule.at, rule.tolerance, rule.arrays, rule.fields)


def _under(pattern: Pattern, root: Path) -> Pattern:
    return Pattern(pattern.text, (*root, *pattern.segments), pattern.absolute) if root else pattern
