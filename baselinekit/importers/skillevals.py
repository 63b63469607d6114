"""`evals.json` of a skill, as skill-creator has it, as a file of test cases: each prompt is handed to the
skill, and a judge says of each expectation whether it holds."""

from collections.abc import Iterator

from baselinekit.importers.drafts import SourceText
from baselinekit.importers.evaldrafts import DraftEvals, EvalFiles, Reading, as_name
from baselinekit.model.values import Json, Path
from baselinekit.variables import unexpanded, unexpanded_in

FORM = "evals.json"
_EXPECTATIONS = ("expectations", "assertions")
_SAYS = ("text", "description", "expectation", "assertion", "name", "criterion")
_KEYS = ("id", "name", "prompt", "expected_output", "files", *_EXPECTATIONS)


def recognises(source: SourceText) -> bool:
    raw = source.value
    return isinstance(raw, dict) and "skill_name" in raw and isinstance(raw.get("evals"), list)


def read(source: SourceText, files: EvalFiles) -> DraftEvals:
    raw = source.value
    reading = Reading(source, files)
    skill = str(raw["skill_name"])
    for key in raw:
        if key not in ("skill_name", "evals", "description", "version"):
            reading.leave_out((key,), f"the key `{key}`", "nothing here is like it")
    cases = [
        case for number, one in enumerate(raw["evals"]) for case in _case(one, ("evals", number), reading)
    ]
    document: dict[str, Json] = {
        "schema_version": "1.0",
        "eval_type": "capability",
        "metadata": {"id": as_name(skill)},
        "config": {"execution": {"type": "skill", "skill_name": skill}},
        "test_cases": cases,
    }
    return reading.draft(as_name(skill), document)


def _case(raw: Json, at: Path, reading: Reading) -> Iterator[Json]:
    if not isinstance(raw, dict) or not isinstance(raw.get("prompt"), str) or not raw["prompt"].strip():
        reading.leave_out(at, "an eval without a prompt", "write what is asked")
        return
    for key in raw:
        if key not in _KEYS:
            reading.leave_out((*at, key), f"`{key}` of an eval", "nothing here is like it")
    graders = [*_graders(raw, at, reading)]
    if not graders:
        hint = "state `expectations`, or `expected_output`"
        reading.leave_out(at, "an eval that does not say what is right", hint)
        return
    id = raw.get("id", raw.get("name"))
    name = raw.get("name")
    case: dict[str, Json] = {"id": reading.own_id(f"eval-{id}" if isinstance(id, int) else str(id or "eval"))}
    case |= {"name": name} if isinstance(name, str) and name.strip() else {}
    content: Json = unexpanded(raw["prompt"])
    if stated := raw.get("files"):
        reading.note("a skill is handed the paths of its files, beside the prompt: {prompt, files}")
        content = {"prompt": content, "files": unexpanded_in(stated)}
    yield case | {"input": {"type": "skill", "content": content}, "graders": graders}


def _graders(raw: dict[str, Json], at: Path, reading: Reading) -> Iterator[Json]:
    """A judge by what is expected: each statement holds or not, and all have to."""
    key = next((key for key in _EXPECTATIONS if raw.get(key)), None)
    said: list[str] = []
    for number, one in enumerate(raw[key] if key and isinstance(raw[key], list) else []):
        text = (
            one
            if isinstance(one, str)
            else next((one[word] for word in _SAYS if isinstance(one.get(word), str)), None)
            if isinstance(one, dict)
            else None
        )
        if text and text.strip():
            said.append(text)
        else:
            reading.leave_out((*at, str(key), number), "an expectation that is no text", "state it in words")
    outcome = raw.get("expected_output")
    for number, text in enumerate(said):
        config = {"rubric": [{"name": "expectation", "description": text}], "scoring": {"type": "boolean"}}
        yield {"type": "model", "name": f"expectation-{number + 1}", "config": config}
    if not said and isinstance(outcome, str) and outcome.strip():
        config = {"rubric": [{"name": "outcome", "description": outcome}], "scoring": {"type": "boolean"}}
        yield {"type": "model", "name": "expected_output", "config": config}
    elif said and isinstance(outcome, str) and outcome.strip():
        reading.note("where expectations are stated, judges go by them; `expected_output` is left behind")
