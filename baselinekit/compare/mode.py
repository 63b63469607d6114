"""Mode: how values are compared at one place of a document, its defaults filled in."""

from dataclasses import dataclass, replace
from typing import Any

from baselinekit.methods import OLD_NAMES
from baselinekit.model.baselines import FLAGS, Method, Options, Tolerance, Type
from baselinekit.paths import Specificity

ANYWHERE: Specificity = (-(10**9), 0, 0, 0)

DEFAULT_SIMILARITY = 0.8
EVERY_FACT = 1.0


def least_similarity(method: str) -> float:
    """How alike texts must be where nobody says it: a judge counts facts, and each of them matters."""
    return EVERY_FACT if method == "judge" else DEFAULT_SIMILARITY


@dataclass(frozen=True, slots=True)
class Mode:
    type: Type = "structural"
    allow_additional_fields: bool = False
    allow_missing_fields: bool = False
    allow_field_reordering: bool = True
    allow_empty_arrays: bool = False
    case_sensitive: bool = True
    trim_whitespace: bool = False
    normalize_newlines: bool = False
    min_similarity: float = DEFAULT_SIMILARITY
    method: Method = "words"
    tolerance: Tolerance | None = None
    tolerance_rule: str | None = None
    tolerance_specificity: Specificity = ANYWHERE
    tolerances: tuple[tuple[Tolerance, str], ...] = ()
    """Further ones, with their rules, that are as exact: a number has to keep them all."""

    @property
    def typed(self) -> bool:
        """1 and 1.0 differ."""
        return self.type == "exact"

    @property
    def plain(self) -> bool:
        """Whether texts or numbers of one type that are not equal always differ."""
        return (
            self.type in ("structural", "exact")
            and self.case_sensitive
            and self.tolerance is None
            and not (self.trim_whitespace or self.normalize_newlines)
        )

    @property
    def asks_for_change(self) -> bool:
        """Whether a number that is still the same is out of its tolerance: then equal is not enough."""
        if self.tolerance is None:
            return False
        return any(
            (stated.min_delta is not None and stated.min_delta > 0)
            or (stated.max_delta is not None and stated.max_delta < 0)
            for stated in (self.tolerance, *(bounds for bounds, _ in self.tolerances))
        )

    @property
    def literal_keys_decide(self) -> bool:
        """Whether two rows whose literal texts and numbers differ can never match: then those may sort the
        rows before any of them is compared."""
        return (
            self.type in ("structural", "exact")
            and self.case_sensitive
            and not (self.allow_missing_fields or self.trim_whitespace or self.normalize_newlines)
        )

    @property
    def only_equal_rows_match(self) -> bool:
        """Whether a row of literal values can match equal rows alone."""
        return (
            self.literal_keys_decide
            and self.allow_field_reordering
            and not (self.allow_additional_fields or self.typed or self.tolerance is not None)
        )

    def text(self, text: str) -> str:
        """A text as it counts."""
        if self.normalize_newlines and "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self.trim_whitespace:
            text = text.strip()
        return text if self.case_sensitive else text.casefold()

    def changed(
        self,
        type: Type,
        *sources: Options | dict[str, bool] | None,
        min_similarity: float | None = None,
        method: Method | None = None,
    ) -> "Mode":
        """With another type, and what the sources state, the later ones last."""
        stated: dict[str, Any] = {}
        if type != self.type:
            stated = {"type": type, "normalize_newlines": type == "exact"}
        if min_similarity is not None:
            stated["min_similarity"] = min_similarity
        if method is not None:
            stated["method"] = OLD_NAMES.get(method, method)
            if min_similarity is None and method != self.method:
                stated["min_similarity"] = least_similarity(method)
        for source in sources:
            if isinstance(source, Options):
                source = {name: value for name in FLAGS if (value := getattr(source, name)) is not None}
            stated |= source or {}
        return replace(self, **stated) if stated else self

    def tolerating(
        self,
        tolerance: Tolerance | None,
        rule: str,
        specificity: Specificity,
        further: tuple[tuple[Tolerance, str], ...] = (),
    ) -> "Mode":
        """The mode below a tolerance's path, unless a more exact path has already set another. Of paths that
        are equally exact a number has to keep all tolerances; none at all is the narrowest."""
        if specificity < self.tolerance_specificity:
            return self
        if specificity == self.tolerance_specificity:
            if self.tolerance is None:
                return self
            if tolerance is not None:
                known = ((self.tolerance, self.tolerance_rule or ""), *self.tolerances)
                added = [one for one in ((tolerance, rule), *further) if one not in known]
                return replace(self, tolerances=(*self.tolerances, *added)) if added else self
        return replace(
            self,
            tolerance=tolerance,
            tolerance_rule=rule,
            tolerance_specificity=specificity,
            tolerances=further,
        )
