"""Grader that asks a model for a score from 0 to 1, by a prompt of the user: a template, or a program that
writes it.

Texts are filled in between marks that no text can know, and in one pass, so that nothing in them is taken for
a variable. The rule of the case decides whether a score passes."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial

from baselinekit.errors import Problem, cannot_replay, suggest
from baselinekit.files.jsontext import pretty, to_bytes
from baselinekit.graders import base, judging
from baselinekit.graders.base import GradeClients, GraderType, JudgeProgram, LabelScale, Task
from baselinekit.graders.by_model import spoken_verdict
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, PassRule
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Retries, Struct, TimeLimit, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.texts import end_of

_MOST_LISTED = 4
_MOST_TOKENS = 1_500
_LONGEST_TAIL = 500
_SHORTEST_MARKED = 12
_VARIABLE = lazy_pattern(r"(\\*)(\{\{[ \t]*([A-Za-z_][\w.-]*)[ \t]*\}\})")
_TEXT_FILES = (".md", ".txt")
_PROGRAMS = (".ts", ".js", ".mjs", ".cjs", ".py", ".sh")

VARIABLES = (*base.TEXTS, *base.MESSAGES)
RESULTS = ("evaluator_results", "EVALUATOR_RESULTS_JSON")
"""The variable with the results that the aggregator of a composite sums up, by both of its names."""

SIDECAR = "sidecar"
_ANSWER_VARIABLES = frozenset(("candidate_answer", "output_messages"))
_OTHER_NAMES = {
    "input": "question",
    "output": "candidate_answer",
    "answer": "candidate_answer",
    "expected": "reference_answer",
    "expected_output": "reference_answer",
    "criteria": "expected_outcome",
}

_SECTIONS = "\n\n".join(
    f"[[ ## {name} ## ]]\n{{{{{name}}}}}"
    for name in ("expected_outcome", "question", "reference_answer", "candidate_answer")
)
DEFAULT_TEMPLATE = f"""\
You are an expert evaluator. Grade the candidate_answer based on how well it achieves the expected_outcome.

Use reference_answer as a gold standard (if provided). The candidate_answer doesn't need to match verbatim, \
but should capture key points.

Say briefly what it achieves and what it misses.

{_SECTIONS}"""
_FORM = {"score": judging.unquoted("0 to 1"), "hits": ["…"], "misses": ["…"], "reasoning": "…"}
_REPLY_RULES = (
    "`score` is from 0 (nothing of it is achieved) to 1 (all of it is). `hits` and `misses` are lists of at "
    f"most {_MOST_LISTED} short points each, and may be empty."
)


class PromptScript(Struct):
    """A program that writes the prompt: it reads the case, the answer and `config` as JSON from its stdin,
    and prints the prompt. `cwd` is relative to the folder of the case's file."""

    script: str | list[str]
    config: dict[str, Json] = field(default_factory=dict)
    cwd: str | None = None
    timeout: TimeLimit | None = None


class TemplateJudge(Struct):
    """A model scores the answer by a prompt: a template in place, the path of one, a program that writes
    it, or our own where there is none."""

    prompt: str | PromptScript | None = None
    model: str = "judge"
    retries_on_unreadable: Retries = 2
    calibration: str | None = None
    of: str | None = None


def names_file(prompt: str) -> bool:
    """Whether a prompt is the path of a file, not the text itself."""
    text = prompt.strip()
    if "\n" in text or "{{" in text:
        return False
    return text.lower().endswith((*_TEXT_FILES, *_PROGRAMS)) or ("/" in text and len(text.split()) == 1)


def prompt_file(judge: TemplateJudge) -> str | None:
    """The path of the file with the prompt; None if it is in no file."""
    return judge.prompt.strip() if isinstance(judge.prompt, str) and names_file(judge.prompt) else None


def prompt_program(judge: TemplateJudge) -> JudgeProgram | None:
    """The program that writes the prompt; None if there is none."""
    script = judge.prompt
    if not isinstance(script, PromptScript):
        return None
    command = script.script if isinstance(script.script, str) else tuple(script.script)
    return JudgeProgram(command, cwd=script.cwd, timeout=script.timeout)


# Filling in.


def variables_of(template: str) -> list[str]:
    """The names that a template asks for, in their order."""
    return [match[3] for match in _VARIABLE.finditer(template) if len(match[1]) % 2 == 0]


def completed(template: str, has_results: bool) -> str:
    """The template with what the judge has to see below it, if it does not show that: the results that an
    aggregator sums up, else the sections of the answer."""
    variables = {*variables_of(template)}
    if has_results and not variables & {*RESULTS}:
        introduction = "These are the results of other evaluators; make one score of them:"
        return f"{template.rstrip()}\n\n{introduction}\n\n[[ ## {RESULTS[0]} ## ]]\n{{{{{RESULTS[0]}}}}}"
    if has_results or variables & _ANSWER_VARIABLES:
        return template
    sections = [part for part in _SECTIONS.split("\n\n") if not variables & {*variables_of(part)}]
    return "\n\n".join((template.rstrip(), *sections))


def filled(template: str, texts: Mapping[str, str], nonce: str) -> str:
    """The template with the texts filled in, in one pass. The expected outcome and the sidecar are the words
    of the case's author; all other texts are judged, and marked as such. An odd number of `\\` makes braces
    literal."""

    def fill(match: re.Match[str]) -> str:
        escapes, whole, name = match[1], match[2], match[3]
        if len(escapes) % 2:
            return escapes.removesuffix("\\") + whole
        text = texts[name]
        is_marked = text and name != "expected_outcome" and not is_of_sidecar(name)
        return escapes + (judging.between_marks(name, text, nonce) if is_marked else text)

    return _VARIABLE.sub(fill, template)


def template_texts(
    template: str, task: Task, observation: Observation, results: Mapping[str, Json]
) -> dict[str, str]:
    """The texts of a template's variables. Messages and other values that are no text are JSON."""
    names = variables_of(template)
    variable = next((name for name in names if name in RESULTS), None)
    if variable is not None and not results:
        message = f"the prompt asks for {{{{{variable}}}}}, which only the aggregator of a composite is given"
        raise cannot_replay("BK660", message, "make it the `aggregator`, or remove the variable")
    given: Json = {**results}
    values = {**base.messages_of(task, observation), **dict.fromkeys(RESULTS, given)}
    texts = base.texts_of(task, observation) | {name: pretty(value, "  ") for name, value in values.items()}
    for name in names:
        if name not in texts:
            value = sidecar_value(name, task.case)
            texts[name] = "" if value is ABSENT else as_text(value)
    return {name: texts[name] for name in names}


def is_of_sidecar(name: str) -> bool:
    return name.partition(".")[0] == SIDECAR


def sidecar_value(name: str, case: Case) -> Json:
    """The value of `sidecar`, or of `sidecar.KEY.KEY`; ABSENT if there is none."""
    value: Json = case.wanted.sidecar if is_of_sidecar(name) else ABSENT
    for key in name.split(".")[1:]:
        value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def template_problems(template: str, case: Case) -> Iterator[Problem]:
    """The problems of a template that are known before anything is asked."""
    if not template.strip():
        yield Problem("BK660", "an empty prompt", "leave `prompt` out for the default one")
    for name in dict.fromkeys(variables_of(template)):
        if name in (*VARIABLES, *RESULTS) or sidecar_value(name, case) is not ABSENT:
            continue
        if is_of_sidecar(name):
            hint = suggest(name, [f"{SIDECAR}.{key}" for key in case.wanted.sidecar])
            hint = hint if hint and name.count(".") == 1 else "add it to the `sidecar` of the case"
            yield Problem("BK660", f"the case has no {name}, which the prompt asks for", hint)
            continue
        other = _OTHER_NAMES.get(name)
        hint = f"did you mean {{{{{other}}}}}?" if other else suggest(name, VARIABLES)
        hint = hint or f"one of {', '.join(VARIABLES)}, {SIDECAR}; \\{{{{{name}}}}} is the literal text"
        yield Problem("BK660", f"the prompt asks for {{{{{name}}}}}, which is not a variable", hint)


# Asking.


def template_judge(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    judge: TemplateJudge = task.method
    if isinstance(judge.prompt, PromptScript):
        prompt, nonce = written_prompt(task, observation, clients)
    else:
        file = prompt_file(judge)
        template = clients.text(file) if file is not None else judge.prompt or DEFAULT_TEMPLATE
        template = completed(template, bool(clients.results))
        texts = template_texts(template, task, observation, clients.results)
        nonce = judging.nonce_of(*texts.values())
        prompt = filled(template, texts, nonce)
    text = f"{prompt.rstrip()}\n\n{_REPLY_RULES}"
    asked = judging.question_in_form(judge.model, text, nonce, _FORM, max_tokens=_MOST_TOKENS, json=True)
    return judging.grade_readable(task, clients, asked, partial(read_template_reply, nonce=nonce, task=task))


def written_prompt(task: Task, observation: Observation, clients: GradeClients) -> tuple[str, str]:
    """The prompt that a program prints. The answer is marked wherever it occurs in it unchanged."""
    program = prompt_program(task.method)
    assert program is not None
    document = base.wire_of(task, observation, task.method.prompt.config, clients.results)
    run = clients.program(task.case, replace(program, stdin=to_bytes(document)))
    command = program.command if isinstance(program.command, str) else " ".join(program.command)
    if run.exit_code != 0:
        tail = end_of(run.stderr.decode("utf-8", "replace").strip(), _LONGEST_TAIL, clients.mask)
        message = f"{command}, which writes the prompt, ended with exit code {run.exit_code}"
        message += f"; it said: {tail}" if tail else ""
        raise cannot_replay("BK664", message, "let it print the prompt and end with 0")
    text = run.stdout.decode("utf-8", "replace").strip()
    if not text:
        raise cannot_replay("BK664", f"{command} printed no prompt", "let it print the prompt to its stdout")
    nonce = judging.nonce_of(text)
    answer = base.texts_of(task, observation)["candidate_answer"].strip()
    if len(answer) >= _SHORTEST_MARKED:
        text = text.replace(answer, judging.between_marks("candidate_answer", answer, nonce))
    return text, nonce


def read_template_reply(answer: str, nonce: str, task: Task) -> Grade:
    """The grade that a reply makes; UnreadableReply if it has no score from 0 to 1."""
    fields = judging.reply(answer, ("score",), nonce)
    stated = judging.scalar(fields["score"])
    if not is_number(stated) or not 0 <= stated <= 1:
        raise judging.unusable_reply(f"has a score of {stated!r}, which is not from 0 to 1", answer)
    reasoning, misses = judging.words_of(fields.get("reasoning")), points_of(fields.get("misses"))
    details: dict[str, Json] = {"score": float(stated), "reasoning": reasoning}
    for key, points in (("hits", points_of(fields.get("hits"))), ("misses", misses)):
        details[key] = points[:_MOST_LISTED]
        if len(points) > _MOST_LISTED:
            details[f"further_{key}"] = len(points) - _MOST_LISTED
    score = base.exact_fraction(float(stated))
    explanation = "; ".join(filter(None, (reasoning, *misses[:_MOST_LISTED])))
    return task.scored(score, f"{too_low(score, task.case.pass_rule)}: {explanation}", details=details)


def points_of(value: Json) -> list[str]:
    """The points that a judge lists; none if it is no list of texts."""
    return [point for point in value if isinstance(point, str)] if isinstance(value, list) else []


def too_low(score: Fraction, rule: PassRule) -> str:
    return f"it scores {base.format_distinct(score, rule.pass_at)}, and {rule.pass_at:g} passes"


def problems(task: Task) -> Iterator[Problem]:
    judge: TemplateJudge = task.method
    at = ("config", "prompt")
    file = prompt_file(judge)
    if isinstance(judge.prompt, PromptScript):
        words = [judge.prompt.script] if isinstance(judge.prompt.script, str) else judge.prompt.script
        if not words or not words[0].strip():
            yield Problem("BK661", "a prompt of no program", "script: [python, judge.py]", at=(*at, "script"))
        if judge.calibration is not None:
            message = "`calibration` of a judge with a prompt that a program writes"
            hint = "use a template, or leave `calibration` out: labels are asked about without programs"
            yield Problem("BK661", message, hint, at=("config", "calibration"))
    elif file is not None:
        if file.lower().endswith(_PROGRAMS):
            hint = f"say how it is run: prompt: {{script: [COMMAND, {file}]}}"
            yield Problem("BK661", f"{file} is a program, and no template", hint, at=at)
    elif isinstance(judge.prompt, str):
        for problem in template_problems(judge.prompt, task.case):
            yield replace(problem, at=at)
    elif not task.case.wanted.outcome.strip() and not task.expected:
        hint = "add `expected_outcome` to the case, or a `prompt` that says it"
        yield Problem("BK660", "nothing says what a good answer is", hint, at=("config",))


def share_verdict(judge: object, rule: PassRule, label: bool | int | float | str) -> bool | None:
    """Whether a person's label is a pass: passed, failed, or a score from 0 to 1."""
    if isinstance(label, bool | str):
        return spoken_verdict(label)
    return base.verdict_of(base.exact_fraction(label), rule)[0] == "passed" if 0 <= label <= 1 else None


BY_SHARE = LabelScale(share_verdict, lambda judge: "a score from 0 to 1", by_pass_rule=True)

TEMPLATE_JUDGE = GraderType(
    TemplateJudge,
    template_judge,
    "llm_judge",
    kind="model",
    problems=problems,
    files=lambda config: {"prompt": prompt_file(config), "calibration": config.calibration},
    texts=lambda config: tuple(filter(None, (prompt_file(config),))),
    text_problems=lambda task, text: template_problems(text, task.case),
    starts=prompt_program,
    asks=lambda config: (config.model, 1),
    question_form="by a prompt",
    label_scale=BY_SHARE,
)
