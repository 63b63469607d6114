"""Known-good outputs with their recipes, rules and records, and the result of a comparison.

These classes are also the schema of the file (store/dialects/native.py)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from baselinekit.errors import Problem
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.structs import Count, Struct, ZeroToOne, field

Number = int | float
Span = tuple[int, int]
Type = Literal["exact", "structural", "numeric", "semantic"]


class Observed(Struct):
    """What the capture took, written only when a rule about its time or its cost needs it."""

    seconds: Number | None = None
    cost_usd: Number | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


class Variant(Struct):
    """Another known-good output, for places where something else is right: all that `when` names must fit,
    each by one of its texts, in which `*` matches anything."""

    when: dict[str, str | Number | list[str]]
    output: Json = ABSENT
    output_file: str | None = None
    captured_at: str | None = None
    environment: dict[str, Json] = field(default_factory=dict)


class Known(Struct):
    """The known-good output: in place, or in a file beside it; `variants` come before it where they fit.
    `learnt`: the values behind the placeholders that were learnt, by their paths."""

    output: Json = ABSENT
    output_file: str | None = None
    captured_at: str | None = None
    environment: dict[str, Json] = field(default_factory=dict)
    observed: Observed | None = None
    learnt: dict[str, str] = field(default_factory=dict)
    approved_by: str | None = None
    reason: str | None = None
    variants: list[Variant] = field(default_factory=list)

    @property
    def versions(self) -> "list[tuple[int | None, Known | Variant]]":
        """The output itself and its variants, each with the number of the variant."""
        return [(None, self), *enumerate(self.variants)]


class Tolerance(Struct):
    """How far a number may be from its baseline; delta = current - baseline, null = no bound."""

    min_delta: Number | None = None
    max_delta: Number | None = None
    abs: Number | None = None
    rel: Number | None = None


class Options(Struct):
    """The switches of a comparison. They may stand in `options` or in `tolerance`; None = the default."""

    allow_additional_fields: bool | None = None
    allow_missing_fields: bool | None = None
    allow_field_reordering: bool | None = None
    allow_empty_arrays: bool | None = None
    case_sensitive: bool | None = None
    trim_whitespace: bool | None = None
    normalize_newlines: bool | None = None
    ignore_values: list[str] | None = None
    require_keys: list[str] | None = None


FLAGS = frozenset(Options.__struct_fields__) - {"ignore_values", "require_keys"}
"""The switches that may stand among the paths of `tolerance`."""

BOUNDS = Tolerance.__struct_fields__


class By(Struct):
    """Array elements paired by the value of a key."""

    by: str

    def __str__(self) -> str:
        return f"by {self.by}"


Method = Literal["words", "embedding", "judge", "lexical"]
"""How texts are compared by their meaning: by their words (once called `lexical`), by a local embedding
model, or by a model that is asked."""

ArrayMode = Literal["ordered", "unordered", "each", "subset"] | By


class FieldRule(Struct):
    """Another type of comparison below one path."""

    type: Type | None = None
    options: Options | None = None
    tolerance: dict[str, bool | Number | Tolerance | None] = field(default_factory=dict)
    method: Method | None = None
    min_similarity: ZeroToOne | None = None


class Latency(Struct):
    """How long the output may take: a number of seconds, or of times what the capture took, at most."""

    max_seconds: Seconds | None = None
    max_ratio: Number | None = None


class Cost(Struct):
    """What the answer of a model may cost: a number of dollars, or of times what the capture did, at most."""

    max_usd: Number | None = None
    max_ratio: Number | None = None


class Age(Struct):
    """After how long a known-good output is warned about, and after how long it counts no more: `30d`."""

    warn: str | None = None
    fail: str | None = None


class Rules(Struct):
    """What counts as the same: the file's `comparison:`."""

    type: Type | None = None
    options: Options | None = None
    tolerance: dict[str, bool | Tolerance] = field(default_factory=dict)
    ignore_fields: list[str] = field(default_factory=list)
    ignore_values: list[str] = field(default_factory=list)
    require_keys: list[str] = field(default_factory=list)
    arrays: dict[str, ArrayMode] = field(default_factory=dict)
    fields: dict[str, FieldRule] = field(default_factory=dict)
    method: Method | None = None
    min_similarity: ZeroToOne | None = None
    latency: Latency | None = None
    cost: Cost | None = None
    max_age: str | Age | None = None


class Metadata(Struct):
    """What the team notes about a baseline, and its record."""

    criticality: Literal["critical", "high", "medium", "low"] | None = None
    tags: list[str] = field(default_factory=list)
    skip: str | None = None
    last_passed: str | None = None
    failure_count: Count = 0


class Source(Struct):
    """Where a baseline is written: a file, which of its documents, and where in that document. `digest` is
    that of the bytes that were read; `form` is which of the two file forms it has. `spans`: where in the text
    its `last_passed` and `failure_count` are, for each that is a plain scalar."""

    file: str
    document: int = 0
    at: Path = ()
    form: str = "native"
    digest: str = ""
    spans: tuple[Span | None, Span | None] = (None, None)


class BaselineRecord(Struct):
    """A baseline as its file states it."""

    id: str
    current: Any
    name: str | None = None
    description: str | None = None
    baseline_version: str | None = None
    baseline: Known | None = None
    comparison: Rules = field(default_factory=Rules)
    metadata: Metadata = field(default_factory=Metadata)


class Baseline(BaselineRecord):
    """One baseline as it is used. `variant`: the number of the variant that is in `baseline`, if one is."""

    current: Recipe
    source: Source = field(default_factory=lambda: Source(""))
    variant: int | None = None

    @property
    def output_path(self) -> Path:
        """The path, in the record, of the output that counts."""
        return (*known_path(self.variant), "output")

    @property
    def tags(self) -> Sequence[str]:
        return self.metadata.tags

    @property
    def output_files(self) -> list[str]:
        """The files beside its own in which its outputs are."""
        versions = self.baseline.versions if self.baseline else ()
        return [version.output_file for _, version in versions if version.output_file]


class Entry(Struct):
    """What a run knows about a baseline before loading it: enough to select it, to locate it, and to run it
    in parallel with others (`claim`). `content`: a digest of the baseline without the record of its runs."""

    id: str
    name: str | None
    tags: Sequence[str]
    source: Source
    kind: str
    claim: str | None
    content: str


def known_path(variant: int | None) -> Path:
    """The path, in the record, of a known-good output and its notes: the baseline's own, or a variant."""
    return ("baseline",) if variant is None else ("baseline", "variants", variant)


# The result of a comparison.

Kind = Literal["missing", "extra", "value", "type", "order", "count", "tolerance", "similarity"]


class Difference(NamedTuple):
    """One place where the actual output differs from the baseline. `path` leads through the actual output
    (through the baseline's if the value is missing), `at` through the baseline's. A tuple, as a failing
    document may have thousands, and creating a dataclass takes three times as long."""

    path: Path
    kind: Kind
    expected: Json
    actual: Json
    at: Path
    rule: str | None = None
    note: str | None = None


class RuleReport(Struct):
    """A report about a rule: it matched nothing (`stale`), lacks what it is to be checked against
    (`unchecked`), hid more than a value (`hid`), leaves values uncompared (`uncompared`), warns about an age
    (`aged`), or has a better alternative (`advice`). `at` leads to the rule."""

    rule: str
    kind: Literal["stale", "unchecked", "hid", "uncompared", "aged", "advice"]
    message: str
    at: Path


UNFIT = ("stale", "unchecked", "hid")
"""Reports about rules that do not do what they were written for."""


class SimilarityQuestion(Struct):
    """The question whether two texts say the same, which a comparison cannot decide by itself."""

    expected: str
    actual: str
    method: Method


Answers = Mapping[SimilarityQuestion, tuple[float, str]]
"""For each question the similarity of the texts, from 0 to 1, and the reason."""


class Comparison(Struct):
    """The result of a comparison. `count` counts every difference, also those beyond the limit of what is
    kept. `resolved` is the actual output seen through the expected template: matching values keep the
    author's text. It *is* the expected output, the same object, when nothing differs. While there are
    questions it is not a verdict: compare again with the answers."""

    differences: tuple[Difference, ...]
    count: int
    resolved: Json
    reports: tuple[RuleReport, ...] = ()
    questions: tuple[SimilarityQuestion, ...] = ()

    @property
    def passed(self) -> bool:
        return self.count == 0


# How texts are compared by their meaning: what each method is for, and what it cannot tell.

OLD_NAMES = {"lexical": "words"}
"""Old names that files may still use, with the current ones."""

DEFAULT_SIMILARITY = 0.8


def least_similarity(method: str) -> float:
    """The default for the least similarity: a judge counts facts, and every fact matters."""
    return 1.0 if method == "judge" else DEFAULT_SIMILARITY


PURPOSE = {
    "judge": "a model says of each fact whether it is kept",
    "words": "near-verbatim text",
    "embedding": "the same topic; it says nothing about facts",
}
_METHOD_HINT = "; ".join(f"`method: {name}` ({purpose})" for name, purpose in PURPOSE.items())
TOPIC_ONLY = "topic alike; facts not compared (method: embedding). Where facts matter: `method: judge`"


SETTLED_BY_REFRESH = ("max_age", "max_age.fail", "latency.max_ratio", "cost.max_ratio")
"""The rules that depend on notes about the capture: a refresh renews these notes."""
_TARGET_RULES = ("require_keys", "latency.", "cost.", "collect")


def is_settled_by_refresh(rule: str | None) -> bool:
    """Whether storing another output settles a difference. Differences of limits and required keys are for
    the author of the rule, or for the target."""
    return rule is None or rule in SETTLED_BY_REFRESH or not rule.startswith(_TARGET_RULES)


def method_problems(rules: Rules) -> list[Problem]:
    """The problems of texts that are to be compared by meaning without a stated method. A field takes the
    method that is stated for the whole."""
    if rules.method is not None:
        return []
    stated: dict[Path, Rules | FieldRule] = {("comparison",): rules}
    stated |= {("comparison", "fields", path): rule for path, rule in rules.fields.items()}
    message = "`type: semantic` does not say how texts are compared"
    return [
        Problem("BK104", message, _METHOD_HINT, at=(*at, "type"))
        for at, rule in stated.items()
        if rule.type == "semantic" and rule.method is None
    ]
