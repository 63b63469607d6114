"""What a rater is shown of a case: the rubric with its slots filled, and what is to be ranked."""

import re
import shlex
from collections.abc import Mapping
from hashlib import sha256

from baselinekit.errors import cannot
from baselinekit.grade.by_code import text_of, values_of
from baselinekit.grade.by_model import asked_of
from baselinekit.model.evals import Case
from baselinekit.model.graders import Grader, HumanRating, RatingScale
from baselinekit.model.ratings import Shown
from baselinekit.model.values import Json
from baselinekit.texts import already_masked, clipped
from baselinekit.tree.equality import canonical

_LONGEST_SUMMARY = 300
_PARTS = ("json", "text", "output", "body", "stdout")
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*|conservative/generous)\}")
_OURS = re.compile(
    r"task_description|input_summary|requirements|special_instructions|conservative/generous"
    r"|criterion_\d+_(?:name|description|indicators|issues)"
)


def item_key(case: Case, grader: Grader, output: Json) -> str:
    """By what ratings are found again: another output, scale or rubric needs new ones."""
    how = grader.method
    assert isinstance(how, HumanRating)
    scale = how.rating_scale
    options = [[option.value, option.label] for option in scale.options]
    labels = sorted(scale.labels.items())
    by = [scale.type, list(scale.range), labels, list(scale.criteria), options, scale.tie_allowed, how.rubric]
    choices: list[Json] = list(values_of(case.expected)) if scale.type == "ranking" else []
    told = canonical([case.id, grader.name, by, choices, output])
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def briefing(
    case: Case, grader: Grader, output: Json, about: Mapping[str, Json]
) -> tuple[Shown, tuple[tuple[int, int], ...]]:
    """What is shown, and of a ranking what is claimed of the items."""
    how = grader.method
    assert isinstance(how, HumanRating)
    items, claims = (
        _ranked(case, output, how.rating_scale) if how.rating_scale.type == "ranking" else ((), ())
    )
    wanted = "" if items else "\n\nor\n\n".join(text_of(value) for value in values_of(case.expected))
    shown = Shown(
        case.name or case.description or case.id,
        _input(case),
        filled_rubric(case, how),
        None if items else output,
        wanted,
        items,
        dict(about),
    )
    return shown, claims


def _ranked(
    case: Case, output: Json, scale: RatingScale
) -> tuple[tuple[Json, ...], tuple[tuple[int, int], ...]]:
    """The output beside what is expected, of which it claims to be the better one; or, where nothing is
    expected, the entries of an output that is a list, of which it claims that they are in order. They are
    shown in an order that tells nothing."""
    others = values_of(case.expected)
    if others:
        stated = [output, *others]
        pairs = [(0, number) for number in range(1, len(stated))]
    else:
        listed = _listed(output)
        stated = listed if listed is not None else [output]
        pairs = [(one, two) for two in range(len(stated)) for one in range(two)]
    if not scale.min_items <= len(stated) <= scale.max_items:
        hint = "let the output be a list of them, or state `expected` with `alternatives`"
        what = (
            f"there are {len(stated)} items to rank, and {scale.min_items} to {scale.max_items} are allowed"
        )
        raise cannot("BK742", what, hint)
    order = sorted(range(len(stated)), key=lambda number: (_digest(case.id, stated[number]), number))
    number_of = {place: number for number, place in enumerate(order, 1)}
    claims = tuple((number_of[one], number_of[two]) for one, two in pairs)
    return tuple(stated[place] for place in order), claims


def _listed(output: Json) -> list[Json] | None:
    """The list that an output is, or the one part of it that says something."""
    if isinstance(output, dict):
        output = next((output[part] for part in _PARTS if part in output), output)
    return list(output) if isinstance(output, list) else None


def _digest(id: str, value: Json) -> str:
    return sha256(f"{id}\0{canonical(value)}".encode("utf-8", "surrogatepass")).hexdigest()


def _input(case: Case) -> str:
    asked = case.recipe.input
    method, place = getattr(asked, "method", None), None
    for name in ("endpoint", "path", "url"):
        place = place or getattr(asked, name, None)
    argv = getattr(asked, "argv", None)
    text = shlex.join(argv) if argv else text_of(asked_of(case))
    text = f"{method} {place}" if method and place else text
    return text if case.context is None else f"{text}\n\nContext:\n{text_of(case.context)}"


def filled_rubric(case: Case, how: HumanRating) -> str:
    """The rubric with its slots filled, in one pass: nothing that was filled in is looked at again. A line
    with a slot that nobody has anything for is left out, and braces that are no slot stay."""
    known = _known(case, how)
    lines = []
    for line in how.rubric.splitlines():
        empty = [name for name in _SLOT.findall(line) if name not in known and _OURS.fullmatch(name)]
        if not empty:
            lines.append(_SLOT.sub(lambda match: known.get(match[1], match[0]), line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _known(case: Case, how: HumanRating) -> dict[str, str]:
    known = {
        "task_description": case.description or case.name or case.id,
        "input_summary": _cut(_input(case)),
        "conservative/generous": "conservative",
    }
    wanted = values_of(case.expected)
    if wanted:
        known["requirements"] = _cut("; or ".join(map(text_of, wanted)))
    for number, text in enumerate(how.rating_scale.criteria, 1):
        name, _, about = text.partition(": ")
        known[f"criterion_{number}_name"] = name
        if about:
            known[f"criterion_{number}_description"] = about
    return {name: text for name, text in (known | how.slots).items() if text}


def _cut(text: str) -> str:
    """A text in passing: on one line, and not all of a long one."""
    return clipped(" ".join(text.split()), _LONGEST_SUMMARY, already_masked, counted=False)
