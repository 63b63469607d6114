"""A regression record as an eval case: it is graded by its known-good output."""

from functools import partial

from baselinekit.errors import Problem
from baselinekit.graders.by_matcher import BaselineMatch
from baselinekit.kinds.table import kind_of
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.values import Json
from baselinekit.schema import Parts, Schema, add_part, move_to_name, prefix_paths, ref
from baselinekit.store import records
from baselinekit.store.dialects import harness
from baselinekit.structs import replace
from baselinekit.suites.dialects import capability
from baselinekit.suites.dialects.dialect import Defaults, EvalDocument, EvalItem

KEYS = frozenset(("current", "baseline", "comparison"))
_BASELINE = Grader("baseline", "code", BaselineMatch(), at=("baseline",))


def recognises(raw: dict[str, Json]) -> bool:
    return records.is_response(raw) or bool(KEYS & raw.keys() and not capability.KEYS & raw.keys())


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "JsonRecord", harness.RegressionFile)
    return [ref("Record"), ref("JsonRecord")]


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    baseline, problems = records.read_record(item.raw, document.source(item.at, item.raw))
    if baseline is None or problems:
        return prefix_paths(problems, item.at)
    load = partial(records.load, defaults.root, document.file)
    stored, errors = records.fill_outputs(baseline.baseline, load)
    for at, error in errors:
        problems += [move_to_name(problem, (*at, "output_file")) for problem in error.problems]
    if stored is None and not problems:
        hint = f"capture it: baselinekit capture {document.file}"
        problems = [Problem("BK104", f"{baseline.id} has no baseline yet", hint, at=())]
    recipe, metadata, raw_metadata = baseline.current, baseline.metadata, item.raw.get("metadata")
    kind = kind_of(recipe)
    if defaults.target is not None and not kind.asks_nobody and kind.input_of_text("?", None) is not None:
        target = defaults.target_for(recipe.execution)
        if target.type != recipe.kind:
            message = f"a record of `type: {recipe.kind}` cannot be sent to a target of `type: {target.type}`"
            hint = f"name a --target of `type: {recipe.kind}`, or the files that are to be run"
            problems.append(Problem("BK715", message, hint, at=("current", "execution")))
        recipe = replace(recipe, execution=target)
    if not problems:
        case = defaults.case(
            baseline.id,
            recipe,
            (_BASELINE,),
            metadata.tags,
            kind="regression",
            name=baseline.name,
            description=baseline.description,
            category=raw_metadata.get("category") if isinstance(raw_metadata, dict) else None,
            criticality=metadata.criticality,
            skip=metadata.skip,
            pass_rule=PassRule(),
            baseline=replace(baseline, baseline=stored),
            source=baseline.source,
        )
        document.cases.append(case)
    return prefix_paths(problems, item.at)
