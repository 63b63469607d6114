"""Cases as a prompt folder: its description, a template that is filled with what each case asks, and its eval
file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from baselinekit.documents.languages import dump_yaml
from baselinekit.grade.by_line import DecisionLine, ScoreLine
from baselinekit.grade.by_model import OVERALL, ModelJudge, Scoring
from baselinekit.grade.by_text import Contains, RegexMatch, TokenCount
from baselinekit.grade.checks import check_of
from baselinekit.importers.evaldrafts import own_id
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json
from baselinekit.store.project import EVALS, METAS, TEMPLATE
from baselinekit.suites.dialects.assertions import JUDGE, SCALE
from baselinekit.suites.dialects.triggering import LISTS
from baselinekit.suites.writing.sayings import (
    LeftBehind,
    Wish,
    Written,
    by_themselves,
    judges_late,
    question_of,
)
from baselinekit.variables import Scope

_INPUT = "prompt"
_USUAL_TIME = 60
_USUAL_MODEL = "default"
_USUAL_THRESHOLD = 4
_INLINE_FLAGS = {"ignorecase": "i", "multiline": "m", "dotall": "s"}


def write(wish: Wish) -> Written:
    """A folder whose template is nothing but what a case asks."""
    lost: list[LeftBehind] = []
    queries = [case for case in wish.cases if _is_query(case)]
    queries = [case for key in LISTS.values() for case in queries if case.graders[0].method.wanted == key]
    cases = [case for case in wish.cases if case not in queries and _can_be_written(case, wish, lost)]
    about = queries[0].graders[0].method if queries else None
    for case in list(queries):
        one = case.graders[0].method
        if about is not None and replace(one, wanted=about.wanted) != about:
            lost.append(LeftBehind("it is judged by another description than the first query", "", case))
            queries.remove(case)
    if not (queries or cases):
        return Written({}, lost=tuple(lost))
    id = own_id(wish.name, set(), "prompt")
    evals: dict[str, Json] = {}
    defaults, model = _defaults(queries + cases, cases)
    evals |= {"defaults": defaults} if defaults else {}
    if cases:
        names: set[str] = set()
        evals["cases"] = [_case(case, defaults, model, names, wish) for case in cases]
    if queries:
        evals["triggering"] = _triggering(queries, model)
    files = {
        EVALS[0]: dump_yaml(evals),
        METAS[0]: dump_yaml(_meta(id, wish, about, bool(cases))),
        TEMPLATE: f"{{{{{_INPUT}}}}}\n" if not cases else f"{{{{{_INPUT}}}}}",
    }
    notes = []
    if any(isinstance(grader.method, ModelJudge) for case in cases for grader in case.graders):
        notes.append("a judge of a rubric is asked for its score in one line, from 1 to 5")
    return Written(files, (*queries, *cases), tuple(lost), tuple(notes))


def _meta(id: str, wish: Wish, about: DecisionLine | None, uses_input: bool) -> dict[str, Json]:
    summary = wish.description or f"The cases of {wish.name}."
    meta: dict[str, Json] = {"id": id, "title": wish.name, "summary": summary, "status": "draft"}
    meta |= {"version": "0.1.0", "created": wish.today, "updated": wish.today}
    if about is not None:
        meta |= {"description": about.description} if about.description else {}
        meta |= {"triggers": [*about.triggers]} if about.triggers else {}
        meta |= {"not_for": [*about.not_for]} if about.not_for else {}
    return meta | {"inputs": [{"name": _INPUT, "required": uses_input}]}


def _is_query(case: Case) -> bool:
    """A request of which a judge says whether it calls the prompt up."""
    is_echo = kind_of(case.recipe).asks_nobody and isinstance(case.recipe.input, str)
    return is_echo and len(case.graders) == 1 and isinstance(case.graders[0].method, DecisionLine)


def _can_be_written(case: Case, wish: Wish, lost: list[LeftBehind]) -> bool:
    asked = question_of(case, wish.root)
    why = ""
    if case.baseline is not None:
        why = "a baseline is no case of a prompt"
    elif kind_of(case.recipe).asks_models != "always":
        why = f"a prompt folder asks a model, and this asks by `type: {case.recipe.execution.type}`"
    elif asked.text is None:
        why = f"a prompt folder asks with one text, and these are {len(asked.messages)} messages"
    elif asked.variables:
        why = f"the variable {{{{{asked.variables[0]}}}}} of the project stands for itself in an input"
    if not why:
        kept = [one for grader in case.graders for one in equivalent(grader, case) if _check(one)]
        judges = [one for one in kept if isinstance(one.method, ScoreLine)]
        why = "" if kept else "none of its graders can be said there"
        why = "a case has one rubric, and this has several" if len(judges) > 1 else why
    if why:
        lost.append(LeftBehind(why, case=case))
    return not why


def equivalent(grader: Grader, case: Case) -> Sequence[Grader]:
    """By assertions of one kind each, and a judge that replies in one line."""
    found: list[Grader] = []
    for one in by_themselves(grader, case):
        found += [replace(one, method=method) for method in _in_single_checks(one.method)]
    return found


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


def _in_one_line(how: ModelJudge) -> ScoreLine | None:
    """The same judge as one that replies in one line, if it scores one thing from 1 to 5."""
    least, most = SCALE
    scores_so = how.scoring.type == "numeric" and [*how.scoring.range] == [least, most]
    plain = ModelJudge(
        how.rubric, how.model, scoring=how.scoring, retries_on_unreadable=how.retries_on_unreadable
    )
    names = [one.name for one in how.criteria]
    if not scores_so or how != plain or not isinstance(how.rubric, str) or names != [OVERALL]:
        return None
    stated = how.scoring.threshold
    threshold = _USUAL_THRESHOLD if how.scoring == Scoring() or stated is None else stated
    if not isinstance(threshold, int) or not least <= threshold <= most:
        return None
    return ScoreLine(rubric=how.rubric, model=how.model, pass_threshold=threshold)


def _check(grader: Grader) -> dict[str, Json] | None:
    """What a grader is written as: an assertion, or a rubric with its judge."""
    if isinstance(grader.method, ScoreLine):
        return {"rubric": grader.method.rubric}
    return check_of(grader)


def _defaults(every: Sequence[Case], cases: Sequence[Case]) -> tuple[dict[str, Json], str]:
    """What most cases say, and the model that most of them ask."""
    models = Counter(case.recipe.execution.model for case in cases)
    model = models.most_common(1)[0][0] if models else _USUAL_MODEL
    times = Counter(case.timeout for case in every if case.timeout is not None)
    time = times.most_common(1)[0][0] if times else _USUAL_TIME
    defaults: dict[str, Json] = {"model": model} if model != _USUAL_MODEL else {}
    defaults |= {"timeout_s": time} if time != _USUAL_TIME else {}
    judged = Counter(case.judge_after_failure for case in cases if judges_late(case))
    defaults |= {"judge_after_failure": True} if judged[True] > judged[False] else {}
    return defaults, model


def _case(case: Case, defaults: dict[str, Json], model: str, names: set[str], wish: Wish) -> dict[str, Json]:
    text = Scope().expand(question_of(case, wish.root).text)
    made: dict[str, Json] = {"name": _name(case, names), "inputs": {_INPUT: text}}
    if case.recipe.execution.model != model:
        made["model"] = case.recipe.execution.model
    if case.timeout is not None and case.timeout != defaults.get("timeout_s", _USUAL_TIME):
        made["timeout_s"] = case.timeout
    checks = [one for grader in case.graders for one in equivalent(grader, case)]
    if asserted := [check for one in checks if (check := check_of(one))]:
        made["assert"] = asserted
    for one in checks:
        if isinstance(one.method, ScoreLine):
            made |= _judge(one.method, defaults)
    return made


def _judge(line: ScoreLine, defaults: dict[str, Json]) -> dict[str, Json]:
    judge: dict[str, Json] = {"model": line.model} if line.model != defaults.get("model", JUDGE) else {}
    judge |= {"pass_threshold": line.pass_threshold} if line.pass_threshold != _USUAL_THRESHOLD else {}
    return {"rubric": line.rubric} | ({"judge": judge} if judge else {})


def _name(case: Case, names: set[str]) -> str:
    """One line of visible signs, of which none is there twice."""
    own = case.name or case.id.partition("/")[2] or case.id
    name = wanted = " ".join("".join(sign if sign.isprintable() else " " for sign in own).split()) or "case"
    more = 1
    while name in names:
        more += 1
        name = f"{wanted} {more}"
    names.add(name)
    return name


def _triggering(queries: Sequence[Case], model: str) -> dict[str, Json]:
    judges = queries[0].graders[0].method.model
    usual = model if model != _USUAL_MODEL else JUDGE
    block: dict[str, Json] = {"judge": {"model": judges}} if judges != usual else {}
    for key, wanted in LISTS.items():
        texts = [
            Scope().expand(case.recipe.input) for case in queries if case.graders[0].method.wanted == wanted
        ]
        block |= {key: texts} if texts else {}
    return block
