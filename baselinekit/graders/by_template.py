"""Graders that ask a model by a prompt of the user, a template or a program that writes it, for a score
from 0 to 1; or about each item of a rubric, and compute the score and the verdict themselves.

Texts are filled in between marks that no text can know, and in one pass, so that nothing in them is taken
for a variable. The rule of the case decides whether a score passes.

A plain text is an item of a rubric that has to be met. An item with `score_ranges` is scored from 0 to 10
by what each range of scores means, and has to reach its `required_min_score`, if it has one. An item that the
judge leaves out is not met: an omission must not raise the score. Verdicts on items that are not in the
rubric do not count, and are reported."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated

from baselinekit.errors import Problem, cannot_replay
from baselinekit.files.jsontext import pretty, to_bytes
from baselinekit.graders import base, judging
from baselinekit.graders.base import GradeClients, GraderType, JudgeProgram, ReadConfig, Task
from baselinekit.graders.by_model import spoken_verdict
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, PassRule
from baselinekit.model.recipes import ModelQuestion, Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import prefix_paths, read_as
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Meta, Name, NotBlank, NotEmpty, Retries, Struct, TimeLimit, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.texts import mask_and_clip, no_mask

_MOST_LISTED = 4
_MOST_TOKENS = 1_500
_SHORTEST_MARKED = 12
_VARIABLE = lazy_pattern(r"(\\?)(\{\{[ \t]*([A-Za-z_][\w.-]*)[ \t]*\}\})")
_TEXT_FILES = (".md", ".txt")
_PROGRAMS = (".ts", ".js", ".mjs", ".cjs", ".py", ".sh")

VARIABLES = (*base.TEXTS, *base.MESSAGES)
RESULTS = ("evaluator_results", "EVALUATOR_RESULTS_JSON")
"""The variable with the results that the aggregator of a composite sums up, by both of its names."""

SIDECAR = "sidecar"
_ANSWER_VARIABLES = frozenset(("candidate_answer", "output_messages"))
_SECTIONS = ("expected_outcome", "question", "reference_answer", "candidate_answer")
_INTRODUCTION = """\
You are an expert evaluator. Grade the candidate_answer based on how well it achieves the expected_outcome.

Use reference_answer as a gold standard (if provided). The candidate_answer doesn't need to match verbatim, \
but should capture key points.

Say briefly what it achieves and what it misses."""

_FORM = {"score": judging.unquoted("0 to 1"), "hits": ["…"], "misses": ["…"], "reasoning": "…"}
_REPLY_RULES = (
    "`score` is from 0 (nothing of it is achieved) to 1 (all of it is). `hits` and `misses` are lists of at "
    f"most {_MOST_LISTED} short points each, and may be empty."
)


class PromptScript(Struct):
    """A program that writes the prompt: it reads the case, the answer and `config` as JSON from its stdin,
    and prints the prompt. `cwd` is relative to the folder of the case's file."""

    script: NotBlank | NotEmpty[str]
    config: dict[str, Json] = field(default_factory=dict)
    cwd: str | None = None
    timeout: TimeLimit | None = None

    @property
    def program(self) -> JudgeProgram:
        command = self.script if isinstance(self.script, str) else tuple(self.script)
        return JudgeProgram(command, cwd=self.cwd, timeout=self.timeout)


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
    return judge.prompt.program if isinstance(judge.prompt, PromptScript) else None


# Filling in.


def variables_of(template: str) -> list[str]:
    """The names that a template asks for, in their order."""
    return [match[3] for match in _VARIABLE.finditer(template) if not match[1]]


def completed(template: str, has_results: bool) -> str:
    """The template with what the judge has to see below it, if it does not show that: the results that an
    aggregator sums up, else the sections of the answer."""
    variables = {*variables_of(template)}
    if variables & ({*RESULTS} if has_results else _ANSWER_VARIABLES):
        return template
    parts, names = [template.rstrip()], [name for name in _SECTIONS if name not in variables]
    if has_results:
        parts.append("These are the results of other evaluators; make one score of them:")
        names = [RESULTS[0]]
    return "\n\n".join([*parts, *(f"[[ ## {name} ## ]]\n{{{{{name}}}}}" for name in names)])


DEFAULT_TEMPLATE = completed(_INTRODUCTION, has_results=False)


def filled(template: str, texts: Mapping[str, str], nonce: str) -> str:
    """The template with the texts filled in, in one pass. The expected outcome and the sidecar are the words
    of the case's author; all other texts are judged, and marked as such. A `\\` makes braces literal."""

    def fill(match: re.Match[str]) -> str:
        escape, whole, name = match.groups()
        if escape:
            return whole
        text = texts[name]
        is_marked = text and name != "expected_outcome" and not is_of_sidecar(name)
        return judging.between_marks(name, text, nonce) if is_marked else text

    return _VARIABLE.sub(fill, template)


def template_texts(
    template: str, task: Task, observation: Observation, results: Mapping[str, Json]
) -> dict[str, str]:
    """The texts of a template's variables. Messages and other values that are not texts are JSON."""
    names = variables_of(template)
    if not results and {*names} & {*RESULTS}:
        message = (
            f"the prompt asks for {{{{{RESULTS[0]}}}}}, which only the aggregator of a composite is given"
        )
        raise cannot_replay("BK660", message, "make it the `aggregator`, or remove the variable")
    values = {**base.messages_of(task, observation), **{name: {**results} for name in RESULTS}}
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
        if name not in (*VARIABLES, *RESULTS) and sidecar_value(name, case) is ABSENT:
            hint = f"one of {', '.join(VARIABLES)}, or {SIDECAR}.KEY for a key of the case's `sidecar`"
            hint += f"; \\{{{{{name}}}}} is the literal text"
            yield Problem("BK660", f"the prompt asks for {{{{{name}}}}}, which the case does not have", hint)


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
    script: PromptScript = task.method.prompt
    program = script.program
    document = base.wire_of(task, observation, script.config, clients.results)
    run = clients.program(task.case, replace(program, stdin=to_bytes(document)))
    text = run.stdout.decode("utf-8", "replace").strip()
    if run.exit_code != 0 or not text:
        end = run.describe_end(clients.mask) if run.exit_code else "printed no prompt"
        message = f"{program.text}, which writes the prompt, {end}"
        raise cannot_replay("BK323", message, "let it print the prompt to its stdout, and end with 0")
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
    reasoning, misses = (
        judging.words_of(fields.get("reasoning")),
        judging.points_of(fields.get("misses"), _MOST_LISTED),
    )
    details = {
        "score": float(stated),
        "reasoning": reasoning,
        "hits": judging.points_of(fields.get("hits"), _MOST_LISTED),
    }
    score = base.exact_fraction(float(stated))
    explanation = "; ".join(filter(None, (reasoning, *misses)))
    reason = f"{too_low(score, task.case.pass_rule)}: {explanation}"
    return task.scored(score, reason, details={**details, "misses": misses})


def too_low(score: Fraction, rule: PassRule) -> str:
    return f"it scores {base.format_distinct(score, rule.pass_at)}, and {rule.pass_at:g} passes"


def prompt_problems(task: Task) -> Iterator[Problem]:
    judge: TemplateJudge = task.method
    at = ("config", "prompt")
    file = prompt_file(judge)
    if isinstance(judge.prompt, PromptScript):
        if judge.calibration is not None:
            message = "`calibration` of a judge with a prompt that a program writes"
            hint = "use a template, or leave `calibration` out: labels are asked about without programs"
            yield Problem("BK660", message, hint, at=("config", "calibration"))
    elif file is not None:
        if file.lower().endswith(_PROGRAMS):
            hint = f"say how it is run: prompt: {{script: [COMMAND, {file}]}}"
            yield Problem("BK660", f"{file} is a program, and no template", hint, at=at)
    elif isinstance(judge.prompt, str):
        for problem in template_problems(judge.prompt, task.case):
            yield replace(problem, at=at)
    elif not task.case.wanted.outcome.strip() and not task.expected:
        hint = "add `expected_outcome` to the case, or a `prompt` that states it"
        yield Problem("BK660", "it is not stated what a good answer is", hint, at=("config",))


def share_verdict(judge: object, rule: PassRule, label: bool | int | float | str) -> bool | None:
    """Whether a person's label is a pass: passed, failed, or a score from 0 to 1."""
    if isinstance(label, bool | str):
        return spoken_verdict(label)
    return base.verdict_of(base.exact_fraction(label), rule)[0] == "passed" if 0 <= label <= 1 else None


TEMPLATE_JUDGE = GraderType(
    TemplateJudge,
    template_judge,
    "llm_judge",
    kind="model",
    problems=prompt_problems,
    files=lambda config: {"prompt": prompt_file(config), "calibration": config.calibration},
    texts=lambda config: tuple(filter(None, (prompt_file(config),))),
    text_problems=lambda task, text: template_problems(text, task.case),
    starts=prompt_program,
    asks=lambda config: (config.model, 1),
    question_form="by a prompt",
    label_verdict=share_verdict,
)


# By each item of a rubric.

HIGHEST = 10
"""The highest score of an item that is scored; the lowest is 0. An item that is met has all of it."""

_Score = Annotated[int, Meta(ge=0, le=HIGHEST, description="an integer from 0 to 10")]
_HEAVIEST = Meta(ge=0, le=1_000_000, description="a number from 0 to 1,000,000")
Weight = Annotated[int, _HEAVIEST] | Annotated[float, _HEAVIEST]
_LONGEST_NAME = 80


class ScoreRange(Struct):
    """What the scores from one to another mean, both included."""

    score_range: Annotated[list[_Score], Meta(min_length=2, max_length=2)]
    expected_outcome: str

    @property
    def bounds(self) -> tuple[int, int]:
        return self.score_range[0], self.score_range[1]


class RubricItem(Struct):
    """One item as a file states it. `description` is an older name of `expected_outcome`. `required`: whether
    the answer fails without it; a scored item has `required_min_score` for that."""

    id: Name | None = None
    expected_outcome: str | None = None
    description: str | None = None
    weight: Weight = 1.0
    required: bool = True
    required_min_score: _Score | None = None
    score_ranges: dict[str, str] | list[ScoreRange] | None = None

    @property
    def text(self) -> str:
        return (self.expected_outcome or self.description or "").strip()

    @property
    def is_scored(self) -> bool:
        return self.score_ranges is not None

    @property
    def needed(self) -> int:
        """The lowest score with which the answer does not fail."""
        if self.is_scored:
            return self.required_min_score or 0
        return HIGHEST if self.required else 0

    @property
    def ranges(self) -> list[tuple[int, int, str]]:
        """What the scores from one to another mean. In a map, each range goes from its key to just below the
        next one; ValueError if a key is not a number."""
        if isinstance(self.score_ranges, list):
            return sorted((*one.bounds, one.expected_outcome.strip()) for one in self.score_ranges)
        lows = sorted((int(key), text.strip()) for key, text in (self.score_ranges or {}).items())
        ends = [*(low - 1 for low, _ in lows[1:]), HIGHEST]
        return [(low, end, text) for (low, text), end in zip(lows, ends, strict=False)]

    @property
    def explains_each_score(self) -> bool:
        """Whether each score from 0 to 10 is in one range, which has a text."""
        try:
            ranges = self.ranges
        except ValueError:
            return False
        if not all(text and 0 <= low <= high <= HIGHEST for low, high, text in ranges):
            return False
        return [score for low, high, _ in ranges for score in range(low, high + 1)] == [*range(HIGHEST + 1)]

    def name(self, item_id: str) -> str:
        """The name that a reader sees: its text, if we have made up its id."""
        if self.id is not None or not self.text:
            return item_id
        return mask_and_clip(self.text, _LONGEST_NAME, no_mask, counted=False)


class RubricJudge(Struct):
    """A model decides whether the answer meets each item of a rubric, or scores it from 0 to 10."""

    rubrics: list[str | RubricItem] = field(default_factory=list)
    model: str = "judge"
    retries_on_unreadable: Retries = 2
    calibration: str | None = None
    of: str | None = None

    @property
    def items(self) -> dict[str, RubricItem]:
        """The items by the ids that a judge repeats."""
        return dict(zip(_ids_of(self.rubrics), map(_as_item, self.rubrics), strict=True))


def _as_item(stated: str | RubricItem) -> RubricItem:
    return RubricItem(expected_outcome=stated) if isinstance(stated, str) else stated


def _ids_of(items: Sequence[str | RubricItem]) -> list[str]:
    """The ids of items. One without an id gets one by its place."""
    return [(_as_item(item).id or f"rubric-{number}").strip() for number, item in enumerate(items, 1)]


def describe_items(judge: RubricJudge) -> list[str]:
    """The items in one line each, for those who look at the case."""
    lines = []
    for item_id, item in judge.items.items():
        gate = ", required" if item.needed else ""
        if item.is_scored:
            gate = f", 0 to {HIGHEST}" + (f", {item.needed} or more needed" if item.needed else "")
        lines.append(f"{item.name(item_id)}: weight {item.weight:g}{gate}")
    return lines


# The question.

_TOKENS, _TOKENS_PER_ITEM = 800, 150


def rubric_question(judge: RubricJudge, outcome: str, texts: Mapping[str, str]) -> ModelQuestion:
    """The question to the judge about one answer. Every text but the rubric is between marks. The form of the
    reply has every id, and is not a valid reply: a judge that copies it has judged nothing."""
    lines: list[str] = []
    checks: list[Json] = []
    for item_id, item in judge.items.items():
        key, values = ("score", f"0 to {HIGHEST}") if item.is_scored else ("satisfied", "true or false")
        checks.append({"id": item_id, key: judging.unquoted(values), "reasoning": "…"})
        scale = f"(a whole number from 0 to {HIGHEST})" if item.is_scored else ""
        lines.append(f"- {item_id}: {' '.join(filter(None, (item.text, scale)))}")
        lines += [f"  - {low} to {high}: {text}" for low, high, text in item.ranges]
    task = (
        "Judge the candidate_answer by each item of a rubric: an answer to the question that should achieve "
        f"this:\n\n{outcome.strip() or '(what the items ask for)'}\n\nThe items, by their ids:\n\n"
        + "\n".join(lines)
        + "\n\nJudge each item by itself, and leave none out. `reasoning` says what in the answer decides it."
    )
    form: dict[str, Json] = {"checks": checks, "overall_reasoning": "…"}
    most = _TOKENS + _TOKENS_PER_ITEM * len(checks)
    return judging.question(judge.model, task, texts, form, max_tokens=most, json=True)


# The reply.


class ItemVerdict(Struct):
    """The verdict of a judge on one item. `score`: from 0 to 10; an item that the judge leaves out has 0."""

    item_id: str
    item: RubricItem
    score: int = 0
    reasoning: str = "the judge left it out"

    @property
    def name(self) -> str:
        return self.item.name(self.item_id)

    @property
    def fails(self) -> bool:
        """Whether the item is required and not met."""
        return self.score < self.item.needed

    @property
    def line(self) -> str:
        notes = [f"{self.score} of {HIGHEST}"] if self.item.is_scored else []
        if self.fails:
            notes.append(f"{self.item.needed} needed" if self.item.is_scored else "required")
        name = f"{self.name} ({', '.join(notes)})" if notes else self.name
        return f"{name}: {self.reasoning}" if self.reasoning else name

    @property
    def details(self) -> dict[str, Json]:
        item = self.item
        details: dict[str, Json] = {"id": self.item_id, "weight": float(item.weight)}
        if item.text:
            details["criterion"] = item.text
        if item.is_scored:
            meaning = next(text for low, high, text in item.ranges if low <= self.score <= high)
            details |= {"score": self.score, "range": meaning}
            details |= {"required_min_score": item.needed} if item.needed else {}
        else:
            details |= {"satisfied": self.score == HIGHEST, "required": item.required}
        return {**details, "reasoning": self.reasoning}


_HIT_SCORE = 7
"""The lowest score of an item that is listed as a hit. It decides nothing."""


def read_rubric_reply(answer: str, nonce: str, task: Task) -> Grade:
    """The grade that the verdicts in a reply make, by the weights of all items; UnreadableReply if it is not
    what was asked for, judges an item twice, or judges none."""
    items = task.method.items
    fields = judging.reply(answer, ("checks",), nonce)
    if not isinstance(fields["checks"], list):
        raise judging.unusable_reply("has no list of checks", answer)
    judged: dict[str, ItemVerdict] = {}
    unknown: dict[str, None] = {}
    for entry in fields["checks"]:
        item_id = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(item_id, str):
            raise judging.unusable_reply("has a check without an id", answer)
        if item_id in judged:
            raise judging.unusable_reply(f"judges {item_id} twice", answer)
        if item_id in items:
            judged[item_id] = _read_check(entry, item_id, items[item_id], answer)
        else:
            unknown[item_id] = None
    if not judged:
        raise judging.unusable_reply("judges no item of the rubric", answer)
    verdicts = [judged.get(id) or ItemVerdict(id, item) for id, item in items.items()]
    shares = ((Fraction(one.score, HIGHEST), one.item.weight) for one in verdicts)
    score = base.weighted_mean(shares) or Fraction(0)
    hits = [one for one in verdicts if one.score >= _HIT_SCORE and not one.fails]
    misses = [one for one in verdicts if one not in hits]
    failing = [one for one in misses if one.fails]
    details: dict[str, Json] = {
        "criteria": [one.details for one in verdicts],
        "hits": [one.name for one in hits],
        "misses": [one.name for one in misses],
        "reasoning": judging.words_of(fields.get("overall_reasoning")),
        **({"unknown_ids": [*unknown]} if unknown else {}),
    }
    lines = [one.line for one in failing or misses]
    reason = "; ".join(lines if failing else (too_low(score, task.case.pass_rule), *lines))
    return task.scored(score, reason, failed_gates=tuple(one.name for one in failing), details=details)


def _read_check(entry: Mapping[str, Json], item_id: str, item: RubricItem, answer: str) -> ItemVerdict:
    key = "score" if item.is_scored else "satisfied"
    value, reasoning = judging.scalar(entry.get(key)), judging.words_of(entry.get("reasoning"))
    if isinstance(value, bool) and not item.is_scored:
        return ItemVerdict(item_id, item, HIGHEST if value else 0, reasoning)
    if item.is_scored and is_number(value) and value in range(HIGHEST + 1):
        return ItemVerdict(item_id, item, int(value), reasoning)
    wanted = f"a whole number from 0 to {HIGHEST}" if item.is_scored else "true or false"
    raise judging.unusable_reply(f"has {key}: {value!r} of {item_id}, which is not {wanted}", answer)


def rubric(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    texts = base.texts_of(task, observation)
    outcome = texts.pop("expected_outcome")
    texts = {name: text for name, text in texts.items() if text or name == "candidate_answer"}
    nonce = judging.nonce_of(*texts.values())
    asked = rubric_question(task.method, outcome, texts)
    return judging.grade_readable(task, clients, asked, lambda answer: read_rubric_reply(answer, nonce, task))


# Problems that are known before anything is asked.


def item_problems(items: Sequence[str | RubricItem]) -> Iterator[Problem]:
    """The problems of the items of a rubric, with paths below their list."""
    for number, item in enumerate(map(_as_item, items)):
        if not (item.text or item.is_scored):
            hint = "`expected_outcome: what the answer has to do`, or `score_ranges`"
            yield Problem("BK702", "an item without a text", hint, at=(number,))
        if item.required_min_score is not None and not item.is_scored:
            message = "`required_min_score` of an item that is not scored"
            hint = "add `score_ranges`, or say `required: true` of what is met or not"
            yield Problem("BK702", message, hint, at=(number, "required_min_score"))
        if item.is_scored and not item.explains_each_score:
            message = f"`score_ranges` has to explain each score from 0 to {HIGHEST} once"
            hint = "a map of the lowest score of each range: {0: Wrong, 6: Nearly right, 9: Right}"
            yield Problem("BK702", message, hint, at=(number, "score_ranges"))
    if repeated := base.first_repeated(_ids_of(items)):
        hint = "give each item an id of its own, or none"
        yield Problem("BK702", f"two items are called {repeated!r}", hint, at=())
    if not any(_as_item(item).weight for item in items):
        hint = "state one with a weight above 0: - Names the capital of Australia"
        yield Problem("BK702", "no item of the rubric has any weight", hint, at=())


def read_rubric(config: dict[str, Json]) -> ReadConfig:
    """The config and the problems of its items, wherever these stand in the file."""
    judge, problems = read_as(RubricJudge, config)
    if judge is None:
        return None, problems
    problems = prefix_paths([*item_problems(judge.rubrics)], ("rubrics",))
    return (None if problems else judge), problems


RUBRIC_JUDGE = GraderType(
    RubricJudge,
    rubric,
    "rubric",
    kind="model",
    read=read_rubric,
    files=lambda config: {"calibration": config.calibration},
    asks=lambda config: (config.model, 1),
    criteria=describe_items,
    question_form="by a rubric",
    label_verdict=share_verdict,
)
