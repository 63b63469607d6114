"""`evals.json` of a skill, in the form of skill-creator, as a file of test cases: each prompt is given to the
skill, and a judge decides whether each expectation holds."""

from collections.abc import Iterator

from baselinekit.importers.drafts import SourceText
from baselinekit.model.values import Json, Path
from baselinekit.moving.reading import DraftEvals, EvalFiles, Reading
from baselinekit.secrets.variables import escape_variables, escape_variables_in
from baselinekit.structs import Struct
from baselinekit.suites.writing import as_name


class SkillEvals(Struct):
    skill_name: Json
    evals: list[Json]
    description: Json = None
    version: Json = None


class SkillEval(Struct):
    id: Json = None
    name: Json = None
    prompt: Json = None
    expected_output: Json = None
    files: Json = None
    expectations: list[Json] | None = None


def recognises(source: SourceText) -> bool:
    raw = source.value
    return isinstance(raw, dict) and "skill_name" in raw and isinstance(raw.get("evals"), list)


def read(source: SourceText, files: EvalFiles) -> DraftEvals:
    reading = Reading(source, files, {})
    raw = reading.known(SkillEvals, source.value, ()) or {}
    skill = str(raw["skill_name"])
    numbered = enumerate(raw["evals"])
    cases = [case for number, one in numbered for case in _case(one, ("evals", number), reading)]
    document: dict[str, Json] = {
        "schema_version": "1.0",
        "eval_type": "capability",
        "metadata": {"id": as_name(skill)},
        "config": {"execution": {"type": "skill", "skill_name": skill}},
        "test_cases": cases,
    }
    return reading.draft(as_name(skill), document)


def _case(stated: Json, at: Path, reading: Reading) -> Iterator[Json]:
    prompt = stated.get("prompt") if isinstance(stated, dict) else None
    if not isinstance(prompt, str) or not prompt.strip():
        reading.leave_out(at, "an eval without a prompt", "write what is asked")
        return
    raw = reading.known(SkillEval, stated, at, "an eval") or {}
    expectations, outcome = [*_expectations(raw, at, reading)], raw.get("expected_output")
    has_outcome = isinstance(outcome, str) and bool(outcome.strip())
    if not (expectations or has_outcome):
        hint = "state `expectations`, or `expected_output`"
        reading.leave_out(at, "an eval that does not say what is right", hint)
        return
    id, name = raw.get("id", raw.get("name")), raw.get("name")
    case: dict[str, Json] = {"id": reading.own_id(f"eval-{id}" if isinstance(id, int) else str(id or "eval"))}
    case |= {"name": name} if isinstance(name, str) and name.strip() else {}
    content: Json = escape_variables(raw["prompt"])
    if files := raw.get("files"):
        reading.note("a skill is handed the paths of its files, beside the prompt: {prompt, files}")
        content = {"prompt": content, "files": escape_variables_in(files)}
    case["input"] = {"type": "skill", "content": content}
    case |= {"expected_outcome": outcome} if has_outcome else {}
    judged = {"method": "rubric", "rubrics": expectations} if expectations else {"method": "llm_judge"}
    yield case | {"graders": [{"type": "model", "config": judged}]}


def _expectations(raw: dict[str, Json], at: Path, reading: Reading) -> Iterator[str]:
    """The expectations, a statement each."""
    for number, text in enumerate(raw.get("expectations") or ()):
        if isinstance(text, str) and text.strip():
            yield text
        else:
            hint = "state it in words"
            reading.leave_out((*at, "expectations", number), "an expectation that is not a text", hint)
