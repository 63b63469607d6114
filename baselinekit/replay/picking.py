"""Values out of the answers of a flow: what a step saves for the next, and what the flow collects."""

from dataclasses import replace

from baselinekit.errors import CannotReplay, InvalidInput, Problem, nearest
from baselinekit.model.recipes import HttpFlow
from baselinekit.model.values import Json, Path
from baselinekit.paths import find, parse, roots, suggest
from baselinekit.replay.computed import compute, is_computed, proven
from baselinekit.replay.setting import invalid
from baselinekit.responses import split_step, step_names


def pick(text: str, output: Json, step: str, at: Path) -> Json:
    """The value that a path leads to in a step's output: from `$`, or from whichever of the whole output and
    its body has it. A path with wildcards that leads to several values gives a list of them. Or the
    value that an expression computes of the whole output."""
    if _is_computed(text):
        return compute(text, output, step)
    pattern = parse(text)
    starts = roots(pattern, output)
    if len(starts) > 1:
        mend = f"write $.{text} or body.{text}"
        raise invalid("BK312", f"{text!r} is both in the whole output and in its body", mend, at)
    from_body = starts == [("body",)]
    found = find(pattern, output["body"] if from_body else output) if starts else []
    if not found:
        what = f"{step}: nothing at {text!r} in its output"
        raise CannotReplay(Problem("BK313", what, _near(text, output), at=at))
    return found[0][1] if len(found) == 1 else [value for _, value in found]


def _is_computed(text: str) -> bool:
    """Whether it is no path, and calculates. What can be read as a path is one."""
    try:
        parse(text)
    except InvalidInput:
        return is_computed(text)
    return False


def _near(text: str, output: Json) -> str:
    pattern = parse(text)
    near = suggest(pattern, output) or suggest(pattern, output["body"])
    body = output["body"]
    keys = ", ".join(list(body)[:10]) if isinstance(body, dict) else ""
    return near or (f"its body has {keys}" if keys else f"its status was {output['status']}")


def collected(flow: HttpFlow, outputs: list[Json]) -> Json:
    """What is compared: the last output, or what `collect` names."""
    if flow.collect is None:
        return outputs[-1]
    names = step_names(flow)
    if isinstance(flow.collect, list):
        return {name: outputs[names[name]] for name in flow.collect}
    result = {}
    for key, text in flow.collect.items():
        name, path = split_step(text, names)
        at = ("current", "input", "collect", key)
        output = outputs[names[name]]
        result[key] = pick(path, output, f"step {name}", at) if path else output
    return result


def problems_of_collect(flow: HttpFlow) -> list[Problem]:
    """Steps that `collect` names and that do not exist, and paths that are none."""
    names = step_names(flow)
    at: Path = ("current", "input", "collect")
    if isinstance(flow.collect, dict):
        wanted = [((*at, key), *split_step(text, names)) for key, text in flow.collect.items()]
    else:
        wanted = [((*at, index), name, "") for index, name in enumerate(flow.collect or [])]
    problems = []
    for where, name, path in wanted:
        if name not in names:
            mend = nearest(name, names) or f"there are {', '.join(names)}"
            problems.append(Problem("BK312", f"no step is called {name!r}", mend, at=where))
        elif path:
            problems += problems_of_path(path, where)
    return problems


def problems_of_path(text: str, at: Path) -> list[Problem]:
    try:
        proven(text) if _is_computed(text) else parse(text)
    except InvalidInput as error:
        return [replace(problem, at=at) for problem in error.problems]
    return []
