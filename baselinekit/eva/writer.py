"""Write cases as a prompt folder: its description, a template that is filled with the question of each case,
and its eval file."""

from collections import Counter
from collections.abc import Sequence

from baselinekit.eva.folders import LISTS
from baselinekit.eva.form import JUDGE, SCALE
from baselinekit.files.languages import dump_yaml
from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.by_model import OVERALL, ModelJudge, Scoring
from baselinekit.graders.by_text import Contains, RegexMatch, TokenCount
from baselinekit.graders.graders import check_of
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Scope
from baselinekit.store.project import EVALS, METAS, TEMPLATE
from baselinekit.structs import replace
from baselinekit.suites import writing
from baselinekit.suites.dialect import numbered
from baselinekit.suites.writing import Loss, WriteRequest, Written

_INPUT = "prompt"
_DEFAULT_TIME = 60
_DEFAULT_MODEL = "default"
_DEFAULT_THRESHOLD = 4
_INLINE_FLAGS = {"ignorecase": "i", "multiline": "m", "dotall": "s"}


def write(wish: WriteRequest) -> Written:
    """Write a folder whose template consists of the question of a case only."""
    lost: list[Loss] = []
    queries = [case for case in wish.cases if _is_query(case)]
    queries = [case for key in LISTS.values() for case in queries if case.graders[0].method.wanted == key]
    cases = [case for case in wish.cases if not _is_query(case) and _can_be_written(case, wish, lost)]
    others = [case for case in queries if _judge_of(case) != _judge_of(queries[0])]
    message = "it is judged by another description than the first query"
    lost += [Loss(message, case=case) for case in others]
    queries = [case for case in queries if case not in others]
    if not (queries or cases):
        return Written({}, lost=tuple(lost))
    id = writing.as_name(wish.name, "prompt")
    defaults, model = _common_defaults(queries + cases, cases)
    evals: dict[str, Json] = {"defaults": defaults} if defaults else {}
    if cases:
        names: set[str] = set()
        evals["cases"] = [_format_case(case, defaults, model, names, wish) for case in cases]
    if queries:
        evals["triggering"] = _format_triggering(queries, model)
    files = {
        EVALS[0]: dump_yaml(evals),
        METAS[0]: dump_yaml(_format_meta(id, wish, _judge_of(queries[0]) if queries else None, bool(cases))),
        TEMPLATE: f"{{{{{_INPUT}}}}}\n" if not cases else f"{{{{{_INPUT}}}}}",
    }
    notes = []
    if any(isinstance(grader.method, ModelJudge) for case in cases for grader in case.graders):
        notes.append("a judge of a rubric is asked for its score in one line, from 1 to 5")
    return Written(files, (*queries, *cases), tuple(lost), tuple(notes))


def _format_meta(id: str, wish: WriteRequest, line: DecisionLine | None, uses_input: bool) -> dict[str, Json]:
    summary = wish.description or f"The cases of {wish.name}."
    meta: dict[str, Json] = {"id": id, "title": wish.name, "summary": summary, "status": "draft"}
    meta |= {"version": "0.1.0", "created": wish.today, "updated": wish.today}
    if line is not None:
        meta |= {"description": line.description} if line.description else {}
        meta |= {"triggers": [*line.triggers]} if line.triggers else {}
        meta |= {"not_for": [*line.not_for]} if line.not_for else {}
    return meta | {"inputs": [{"name": _INPUT, "required": uses_input}]}


def _is_query(case: Case) -> bool:
    """Whether a case is a query: a judge decides whether it triggers the prompt."""
    is_echo = kind_of(case.recipe).asks_nobody and isinstance(case.recipe.input, str)
    return is_echo and len(case.graders) == 1 and isinstance(case.graders[0].method, DecisionLine)


def _judge_of(case: Case) -> DecisionLine:
    """The judge of a query, whatever its right decision is."""
    line: DecisionLine = case.graders[0].method
    return replace(line, wanted="YES")


def _can_be_written(case: Case, wish: WriteRequest, lost: list[Loss]) -> bool:
    question = writing.question_of(case, wish.root)
    reason = ""
    if case.baseline is not None:
        reason = "a baseline is not a case of a prompt"
    elif kind_of(case.recipe).asks_models != "always":
        reason = f"a prompt folder asks a model, and this asks by `type: {case.recipe.execution.type}`"
    elif question.text is None:
        reason = f"a prompt folder asks with one text, and these are {len(question.messages)} messages"
    elif question.variables:
        reason = f"the variable {{{{{question.variables[0]}}}}} of the project is literal text in an input"
    if not reason:
        parts = [part for grader in case.graders for part in equivalent(grader, case)]
        writable = [part for part in parts if isinstance(part.method, ScoreLine) or check_of(part)]
        judges = [part for part in writable if isinstance(part.method, ScoreLine)]
        reason = "" if writable else "none of its graders can be written there"
        reason = "a case has one rubric, and this has several" if len(judges) > 1 else reason
    if reason:
        lost.append(Loss(reason, case=case))
    return not reason


def equivalent(grader: Grader, case: Case) -> Sequence[Grader]:
    """Replace a grader by assertions of one kind each, or by a judge that replies in one line."""
    parts: list[Grader] = []
    for part in writing.without_expectation(grader, case):
        parts += [replace(part, method=method) for method in _in_single_checks(part.method)]
    return parts


def _in_single_checks(method: Method) -> Sequence[Method]:
    if isinstance(method, Contains) and method.states_texts and method.case_sensitive and not method.of:
        lists = [Contains(all=method.all)] if method.all else []
        lists += [Contains(any=method.any)] if method.any else []
        return [*lists, *(Contains(none=[text]) for text in method.none)]
    if isinstance(method, TokenCount) and None not in (method.min, method.max) and not method.of:
        return [TokenCount(min=method.min), TokenCount(max=method.max)]
    if isinstance(method, RegexMatch) and method.pattern is not None and not method.of:
        flags = "".join(_INLINE_FLAGS[flag] for flag in method.flags)
        pattern = f"(?{flags}){method.pattern}" if flags else method.pattern
        return [RegexMatch(pattern, must_match=method.must_match)]
    if isinstance(method, ModelJudge) and (line := _in_one_line(method)):
        return [line]
    return [replace(method, retries_on_unreadable=0)] if isinstance(method, ScoreLine) else [method]


def _in_one_line(judge: ModelJudge) -> ScoreLine | None:
    """Return a judge as one that replies in one line, if it has a single score from 1 to 5."""
    least, most = SCALE
    has_scale = judge.scoring.type == "numeric" and [*judge.scoring.range] == [least, most]
    plain_judge = ModelJudge(
        judge.rubric, judge.model, scoring=judge.scoring, retries_on_unreadable=judge.retries_on_unreadable
    )
    names = [criterion.name for criterion in judge.criteria]
    if not has_scale or judge != plain_judge or not isinstance(judge.rubric, str) or names != [OVERALL]:
        return None
    stated = judge.scoring.threshold
    threshold = _DEFAULT_THRESHOLD if judge.scoring == Scoring() or stated is None else stated
    if not isinstance(threshold, int) or not least <= threshold <= most:
        return None
    return ScoreLine(rubric=judge.rubric, model=judge.model, pass_threshold=threshold)


def _common_defaults(all_cases: Sequence[Case], cases: Sequence[Case]) -> tuple[dict[str, Json], str]:
    """Return the settings that most cases have, and the model that most of them ask."""
    models = Counter(case.recipe.execution.model for case in cases)
    model = models.most_common(1)[0][0] if models else _DEFAULT_MODEL
    times = Counter(case.timeout for case in all_cases if case.timeout is not None)
    time = times.most_common(1)[0][0] if times else _DEFAULT_TIME
    defaults: dict[str, Json] = {"model": model} if model != _DEFAULT_MODEL else {}
    defaults |= {"timeout_s": time} if time != _DEFAULT_TIME else {}
    judged = Counter(case.judge_after_failure for case in cases if writing.judges_late(case))
    defaults |= {"judge_after_failure": True} if judged[True] > judged[False] else {}
    return defaults, model


def _format_case(
    case: Case, defaults: dict[str, Json], model: str, names: set[str], wish: WriteRequest
) -> dict[str, Json]:
    text = Scope().expand(writing.question_of(case, wish.root).text)
    entry: dict[str, Json] = {"name": _unique_name(case, names), "inputs": {_INPUT: text}}
    if case.recipe.execution.model != model:
        entry["model"] = case.recipe.execution.model
    if case.timeout is not None and case.timeout != defaults.get("timeout_s", _DEFAULT_TIME):
        entry["timeout_s"] = case.timeout
    parts = [part for grader in case.graders for part in equivalent(grader, case)]
    if assertions := [check for part in parts if (check := check_of(part))]:
        entry["assert"] = assertions
    for part in parts:
        if isinstance(part.method, ScoreLine):
            entry |= _format_judge(part.method, defaults)
    return entry


def _format_judge(line: ScoreLine, defaults: dict[str, Json]) -> dict[str, Json]:
    judge: dict[str, Json] = {"model": line.model} if line.model != defaults.get("model", JUDGE) else {}
    judge |= {"pass_threshold": line.pass_threshold} if line.pass_threshold != _DEFAULT_THRESHOLD else {}
    return {"rubric": line.rubric} | ({"judge": judge} if judge else {})


def _unique_name(case: Case, names: set[str]) -> str:
    """Return a unique name: one line of printable characters."""
    full_name = case.name or case.id.partition("/")[2] or case.id
    printable = "".join(character if character.isprintable() else " " for character in full_name)
    return numbered(" ".join(printable.split()) or "case", names, " ")


def _format_triggering(queries: Sequence[Case], model: str) -> dict[str, Json]:
    judge_model = queries[0].graders[0].method.model
    default_model = model if model != _DEFAULT_MODEL else JUDGE
    block: dict[str, Json] = {"judge": {"model": judge_model}} if judge_model != default_model else {}
    for key, word in LISTS.items():
        texts = [Scope().expand(one.recipe.input) for one in queries if one.graders[0].method.wanted == word]
        block |= {key: texts} if texts else {}
    return block
