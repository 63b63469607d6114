"""What can be done instead of storing a new value."""

from collections.abc import Callable, Sequence

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import Change, Offer, RefreshPlan
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import tokens_in, unescaped
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.values.paths import find, of_any_row, parse, render
from baselinekit.values.places import value_at

Changed = tuple[RefreshPlan, Change]
WordsOf = Callable[[Baseline], PlaceholderContext]

_MOST_OFFERS = 6
_NOT_THE_OUTPUT = "this is recorded at capture and is not part of the output"
_NOT_A_PLACEHOLDER = "that is not a placeholder: one looks like <<any_string>>"
_WHOLE: tuple[Path, ...] = ((), ("body",), ("stdout",))


def new_value_of(plan: RefreshPlan, change: Change) -> Json:
    """Return the new value as it came back: the one that would be written may have variable names in it
    already."""
    try:
        return unescaped(value_at(plan.seen.resolved, change.path))
    except (LookupError, TypeError):
        return unescaped(change.after)


def no_placeholder(change: Change) -> str:
    """Return why no placeholder can stand for this change; empty if one can."""
    if change.part != "output":
        return _NOT_THE_OUTPUT
    if change.kind == "removed":
        return "there is no new value here that a placeholder could stand for"
    return "no placeholder can stand for an order" if change.kind == "order" else ""


def placeholders_for(members: Sequence[Changed], words_of: WordsOf) -> list[Offer]:
    """Return the narrowest placeholders that accept the old and the new values of all members."""
    values: list[Json] = []
    for plan, change in members:
        if change.kind != "added" and not any(tokens_in(change.before)):
            values.append(unescaped(change.before))
        values.append(new_value_of(plan, change))
    values = list({repr(value): value for value in values}.values())  # the same in many places
    proposals = narrowest(values, words=words_of(members[0][0].baseline))[:_MOST_OFFERS]
    return [Offer(proposal.text, proposal.reason) for proposal in proposals]


def placeholder_problem(
    text: str, members: Sequence[Changed], words_of: WordsOf, is_hidden: Callable[[Change], bool]
) -> str:
    """Return why a text cannot stand for the new values, as far as they may be shown; empty if it can."""
    try:
        for plan, change in members:
            template = compile_text(text, words_of(plan.baseline))
            if isinstance(template, str):
                return _NOT_A_PLACEHOLDER
            if not is_hidden(change) and not template.accepts(new_value_of(plan, change), {}):
                return f"it does not accept the new value at {render(change.path)}"
    except BaselinekitError as error:
        return error.problems[0].with_hint
    return ""


def no_rule(change: Change) -> str:
    """Return why no path can be ignored instead; empty if one can."""
    if change.part != "output":
        return _NOT_THE_OUTPUT
    if change.path in _WHOLE:
        return "ignoring the whole output would compare nothing"
    if change.kind == "order":
        return "an order is ignored by `arrays: {path: unordered}` in the file"
    if change.kind in ("added", "removed") and isinstance(change.path[-1], int):
        return "a whole row was added or removed, and only a field of a row can be ignored"
    return ""


def rules_for(plan: RefreshPlan, change: Change) -> list[Offer]:
    """Return the path that would ignore a change, in every row of its arrays: a row has no place of its own
    once others come before it."""
    shape = of_any_row(change.path)
    count = sum(of_any_row(other.path) == shape for other in plan.changes if other.part == change.part)
    in_rows = "in every row" + (f" ({count} differ)" if count > 1 else "")
    return [Offer(_unambiguous(render(shape), plan), "here only" if shape == change.path else in_rows)]


def rule_problem(text: str, members: Sequence[Changed]) -> str:
    """Return why a path cannot be ignored instead of these changes; empty if it can."""
    try:
        for plan, change in members:
            if change.number not in covered_changes(plan, text):
                return f"it does not lead to {render(change.path)}"
    except InvalidInput as error:
        return error.problems[0].message
    return ""


def covered_changes(plan: RefreshPlan, text: str) -> frozenset[int]:
    """Return the changes of a plan to which a path leads, or to something that contains them."""
    pattern, stored, kind = parse(text), plan.baseline.baseline, kind_of(plan.baseline.current)

    def places_in(output: Json) -> set[Path]:
        found = {path for path, _ in find(pattern, output)}
        if kind.paths_start_in_answer and not pattern.absolute and isinstance(output, dict):
            found |= {(kind.answer, *path) for path, _ in find(pattern, output.get(kind.answer))}
        return found

    old, new = places_in(stored.output if stored else None), places_in(plan.seen.resolved)
    return frozenset(
        change.number
        for change in plan.changes
        for selected in [old if change.kind == "removed" else new]
        if change.part == "output"
        and any(change.path[:length] in selected for length in range(len(change.path) + 1))
    )


def _unambiguous(text: str, plan: RefreshPlan) -> str:
    """Return the path, from the root of the output if it would be ambiguous otherwise."""
    stored = plan.baseline.baseline
    starts = kind_of(plan.baseline.current).starts(parse(text), stored.output if stored else None)
    return f"$.{text}" if len(starts) > 1 else text
