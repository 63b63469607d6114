"""How far people agree about outputs that several of them have rated: by criterion, by rater, where not."""

from collections.abc import Iterator, Sequence
from math import fsum
from statistics import median

from baselinekit.graders import by_human
from baselinekit.metrics import krippendorff_alpha, ranking_agreement, scale_agreement
from baselinekit.model.grades import Grader, Label, RatingScale
from baselinekit.model.ratings import Rating, RatingItem, same_person
from baselinekit.model.values import Json
from baselinekit.structs import Struct, plain
from baselinekit.values.equality import canonical

WHOLE = "overall"


class CriterionAgreement(Struct):
    """`agreement`: the mean over the items, from 0 to 1; `alpha`: beyond chance (Krippendorff), None where it
    cannot be computed."""

    grader: str
    criterion: str
    items: int
    agreement: float
    alpha: float | None


class RaterAgreement(Struct):
    """`agreement`: with the others, None without any; `right`: of the `gold` items, by what was
    entered first."""

    rater: str
    rated: int
    skipped: int
    agreement: float | None
    right: int
    gold: int
    seconds: float | None


class Disagreement(Struct):
    item: RatingItem
    agreement: float


def numbers_of(value: Json, scale: RatingScale) -> list[float]:
    """A rating as a number for each criterion; none for a ranking."""
    if scale.type == "ranking":
        return []
    if scale.type == "binary":
        return [float(canonical(value) == canonical(by_human.passing_value(scale)))]
    return [float(number) for number in (value if isinstance(value, list) else [value])]


def agreement_on(item: RatingItem, ratings: Sequence[Rating]) -> float:
    """The agreement of these ratings of an item, over all criteria."""
    scale = item.method.rating_scale
    if scale.type == "ranking":
        return ranking_agreement([by_human.places_in(rating.value) for rating in ratings])
    low, high = scale.range if scale.type == "likert" else (0, 1)
    columns = [*zip(*(numbers_of(rating.value, scale) for rating in ratings), strict=True)]
    return fsum(scale_agreement(column, low, high) for column in columns) / len(columns)


def by_criterion(items: Sequence[RatingItem]) -> Iterator[CriterionAgreement]:
    groups: dict[tuple[str, str], list[RatingItem]] = {}
    for item in items:
        if len(item.raters) > 1:
            groups.setdefault((item.grader, repr(item.method.rating_scale)), []).append(item)
    graders = [grader for grader, _ in groups]
    for (grader, _), rated in groups.items():
        scale = rated[0].method.rating_scale
        if graders.count(grader) > 1:  # the same name for several scales
            words = f" {scale.range[0]} to {scale.range[1]}" if scale.type == "likert" else ""
            grader = f"{grader} ({scale.type}{words})"
        names = scale.criteria or [WHOLE]
        rows = [[numbers_of(one.value, item.method.rating_scale) for one in item.raters] for item in rated]
        for number, name in enumerate(names):
            if scale.type == "ranking":
                shares, alpha = [agreement_on(item, item.raters) for item in rated], None
            else:
                low, high = scale.range if scale.type == "likert" else (0, 1)
                units = [[row[number] for row in unit if number < len(row)] for unit in rows]
                shares = [scale_agreement(unit, low, high) for unit in units]
                alpha = krippendorff_alpha(units)
            mean = fsum(shares) / len(shares)
            yield CriterionAgreement(grader, name.partition(": ")[0], len(rated), mean, alpha)


def by_rater(items: Sequence[RatingItem]) -> Iterator[RaterAgreement]:
    names = {same_person(one.rater): one.rater for item in items for one in item.ratings}
    names = {same_person(skip.rater): skip.rater for item in items for skip in item.skips} | names
    for person, name in sorted(names.items()):
        own = [(item, one) for item in items for one in item.ratings if same_person(one.rater) == person]
        pairs = [
            agreement_on(item, [mine, other])
            for item, mine in own
            for other in item.ratings
            if item.gold is None and same_person(other.rater) != person
        ]
        first = [(item.gold, mine) for item, mine in own if item.gold is not None and not mine.again]
        gold = [canonical(mine.value) == canonical(right.value) for right, mine in first]
        seconds = [one.seconds for _, one in own if one.seconds is not None]
        yield RaterAgreement(
            name,
            len(own),
            sum(same_person(skip.rater) == person for item in items for skip in item.skips),
            fsum(pairs) / len(pairs) if pairs else None,
            sum(gold),
            len(gold),
            float(median(seconds)) if seconds else None,
        )


def disagreements(items: Sequence[RatingItem]) -> list[Disagreement]:
    """The items whose raters differ, the furthest apart first."""
    found = [Disagreement(item, agreement_on(item, item.raters)) for item in items if len(item.raters) > 1]
    return sorted((one for one in found if one.agreement < 1), key=lambda one: one.agreement)


def labels_of(items: Sequence[RatingItem]) -> list[Json]:
    """What people have settled, as labels that a judge is measured with (`calibrate`)."""
    labels = []
    for item in items:
        grade = by_human.human_grade(Grader(item.grader, "human", item.method), item)
        if grade.outcome in ("passed", "failed") and not item.shown.items:
            written = [
                (one.note, *(f"{name}: {note}" for name, note in one.notes.items())) for one in item.ratings
            ]
            notes = " / ".join(note for some in written for note in some if note)
            shown = item.shown
            known = shown.input or None, shown.expected or None, notes or None
            labels.append(plain(Label(shown.output, grade.outcome == "passed", *known)))
    return labels
