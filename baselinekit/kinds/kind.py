"""The base class of recipe kinds: all that the rest of the package must know of a kind, with defaults."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from baselinekit.errors import Problem
from baselinekit.kinds.settings import Setting, check_defined
from baselinekit.model.recipes import Observation, Recipe, Skill, Usage
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json, Path
from baselinekit.structs import NODEFAULT, Struct, defstruct
from baselinekit.values.paths import Pattern, roots
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import Mask

STORED = "that is now the known-good answer"

MessageFiles = tuple[Sequence[str], Sequence[str]]
"""The files that messages name, as absolute paths: those that are guidelines, and the others."""

Family = Literal["", "commands", "skills", "models"]
"""The section of the configuration that defines a name."""

Flag = Literal["--allow-error-status", "--allow-empty", "--allow-failing"]
ALONE = ""
"""The claim of a recipe beside which no other may be replayed."""


class RecognisedForm(Struct):
    """The form recognised in a response: the output read in that form, the settings that the execution needs
    so that it is always read so, and notes for the user. `ignore_values`: what varies by nature; where it is
    stated, further keys are allowed as well."""

    output: Json
    execution: Mapping[str, Json]
    notes: Sequence[str]
    ignore_values: Sequence[str] = ()

    @property
    def options(self) -> dict[str, bool]:
        """The options of a comparison that go with it."""
        return {"allow_additional_fields": True} if self.ignore_values else {}


class Trouble(Struct):
    """A sign that an observation went wrong. `flag`: the option with which a user accepts it as known-good
    all the same; `visible`: whether the output itself shows it; `detail`: what only the observation shows."""

    message: str
    flag: Flag
    visible: bool = True
    detail: str = ""


EMPTY = Trouble("the model's answer is empty", "--allow-empty")


class OutcomePlace(Struct):
    """A place in an output that shows whether the request worked. `judge`: how a number there is judged, as
    `RecipeKind.judge_outcome` does; `step`: the step of a flow, else empty."""

    judge: Callable[[int, str], tuple[int, str]]
    step: str = ""

    def read(self, value: Json) -> tuple[int, str]:
        """Return the severity of the outcome, and its description."""
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return self.judge(value, self.step) if is_number else (0, "")

    def is_worse(self, before: Json, after: Json) -> bool:
        """Whether the outcome is more severe after a change than before."""
        return self.read(after)[0] > self.read(before)[0]


def current_form(name: str, input: Any, execution: type[Any], default: Any = NODEFAULT) -> type[Any]:
    """Return the form of a `current:`. `default`: the input where it may be missing."""
    fields: list[Any] = [("input", input), ("execution", execution)]
    if default is not NODEFAULT:
        fields = [("execution", execution), ("input", input, default)]
    described = {"__doc__": f"`current:` of the kind {name.lower()}."}
    return defstruct(f"{name}Current", fields, bases=(Struct,), namespace=described)


class RecipeKind(ABC):
    """A kind of recipe: a file of this package defines it, table.py lists it. All
    other code calls these methods, and never tests for the name of a kind."""

    # Its part of the schema.

    name: ClassVar[str]
    """The `type` of its execution."""

    execution: ClassVar[type[Any]]
    currents: ClassVar[tuple[type[Any], ...]]
    """The forms that its `current:` may have."""

    def current_of(self, raw_input: Json) -> type[Any]:
        """Return the form of a `current:` with this raw input."""
        return self.currents[0]

    def normalize(self, stated_input: Any) -> Any:
        """Return an input in its normal form, however it is written."""
        return stated_input

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        """Return the problems of a recipe that its types do not show."""
        return iter(())

    # How it is replayed.

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Raise what a replay would raise before its first request, all problems at once."""
        check_defined(recipe, setting)

    @abstractmethod
    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        """Obtain the output again."""

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[str | bytes]:
        """Return the contents of the files that it sends."""
        return iter(())

    def expanded_inputs(self, recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
        """Return its inputs by name, expanded, and the names that it uses."""
        return {}, frozenset()

    def batch(self, recipe: Recipe) -> str | None:
        """Return a key shared by all recipes that are answered together."""
        return None

    # Its output. `parts`: the parts of a whole response, each compared only if the baseline states it.

    noun: ClassVar[str] = "response"
    parts: ClassVar[tuple[str, ...]] = ()
    answer: ClassVar[str] = ""
    """The part that holds what was requested, such as the body."""

    headers: ClassVar[str] = ""
    """The part whose names are case-insensitive, and in which unexpected names are ignored."""

    paths_start_in_answer: ClassVar[bool] = False
    """Whether a dotted path may also start in the `answer` part."""

    def responses(self, recipe: Recipe) -> dict[Path, str]:
        """Return the places of whole responses in its output, each with the name of its step."""
        return {(): ""} if self.parts else {}

    def judge_outcome(self, number: int, step: str) -> tuple[int, str]:
        """Return how severe an outcome is (0: it worked; 1: it was refused; 2: it failed), and describe one
        that did not work."""
        return 0, ""

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        """Return the places where the output shows whether it worked."""
        return {}

    def answers(self, recipe: Recipe) -> tuple[Path, ...]:
        """Return the places of all that was answered: a body, the output of a program."""
        return tuple((*place, self.answer) for place in self.responses(recipe)) if self.answer else ()

    def is_definition(self, recipe: Recipe, path: Path) -> bool:
        """Return whether a place states what the answer consists of, such as the name of a label: another
        value there is a change, and never one that varies."""
        return False

    def starts(self, pattern: Pattern, output: Json) -> list[Path]:
        """Return the places from which a path matches in an output; the path is ambiguous if there are
        several."""
        return roots(pattern, output) if self.paths_start_in_answer else [()]

    # Signs that it went wrong.

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        """Return all troubles. An observation with one is stored only if the user wants it."""
        for severity, description, is_visible in self._outcomes_of(recipe, observation):
            if severity == 2:
                yield Trouble(description, "--allow-error-status", is_visible)

    def remarks(self, recipe: Recipe, observation: Observation) -> Iterator[str]:
        """Describe what may be right or a mistake, and is therefore stored and reported: a 404, an exit code
        of 1."""
        for severity, description, _ in self._outcomes_of(recipe, observation):
            if severity == 1:
                yield f"{description}: {STORED}"
        yield from observation.notes

    def _outcomes_of(self, recipe: Recipe, seen: Observation) -> Iterator[tuple[int, str, bool]]:
        """Return the severity of each outcome, its description, and whether the output shows it."""
        places = self.outcomes(recipe)
        for path, outcome in places.items():
            yield *outcome.read(value_or_absent(seen.output, path)), True
        visible = {outcome.step for outcome in places.values()}
        for step, _, answer in seen.exchanges:
            if step not in visible:
                yield *self.judge_outcome(answer["status"], step), False

    # Its target.

    asks_nobody: ClassVar[bool] = False
    """Whether its output is available without a request."""

    brought_by: ClassVar[str] = ""
    """The program whose runs supply its output, if it cannot be requested."""

    asks_address: ClassVar[bool] = False
    """Whether it sends requests to an address, which a base_url may give."""

    def base_url(self, recipe: Recipe, override: str | None, default: str | None) -> str | None:
        """Return the operator's address, else the recipe's, else the configured default."""
        return override or recipe.execution.base_url or default if self.asks_address else None

    def own_command(self, recipe: Recipe) -> tuple[str, ...]:
        """Return the command that compares it, if another program does that instead of `baselinekit
        compare`."""
        return (self.brought_by, recipe.input.test) if self.brought_by else ()

    @abstractmethod
    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        """Describe the target in a few words: `GET /api/v1/users`, `skill code-review`."""

    def group(self, recipe: Recipe, base_url: Json) -> str:
        """Return the folder of a new baseline, which is named after its target."""
        return self.name

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        """Return the section of the configuration in which its target is defined, and the name there."""
        return "", ""

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        """Return the addresses that the recipe itself names, variables unexpanded."""
        if self.asks_address and recipe.execution.base_url:
            yield recipe.execution.base_url

    def distinctions(self, recipe: Recipe, base_url: Json) -> list[str]:
        """Return texts that may distinguish it from recipes with the same target, best first, as words of an
        id."""
        return []

    def only_reads(self, recipe: Recipe) -> bool:
        """Whether a request changes nothing at the target, so that it may be repeated without asking."""
        return self.asks_nobody

    # What it costs.

    asks_models: ClassVar[Literal["never", "sometimes", "always"]] = "never"
    """Whether a model answers: its answers vary, and cost something."""

    def asks_model(self, recipe: Recipe, skills: Mapping[str, Skill]) -> bool:
        """Whether this recipe asks a model."""
        return self.asks_models == "always"

    def was_asked_of_model(self, environment: Mapping[str, Json], usage: Usage) -> bool:
        """Whether a model has answered. A program may report a model or its tokens; one that reports neither
        is taken to be deterministic."""
        has_model_signs = "model" in environment or (usage.tokens_in, usage.tokens_out) != (None, None)
        return self.asks_models == "always" or (self.asks_models == "sometimes" and has_model_signs)

    # What may be replayed at the same time.

    def writes(self, recipe: Recipe) -> bool:
        """Whether it changes what other recipes may read, as far as the recipe shows."""
        return self.asks_address and not self.only_reads(recipe)

    def claim(self, recipe: Recipe, serial: bool | None = None) -> str | None:
        """Return what no other recipe may use while it is replayed: None for nothing, ALONE for everything,
        else the resource that it names. `serial`: the setting of the configuration for all requests."""
        resource: str | None = getattr(recipe.execution, "resource", None)
        if resource is not None:
            return resource
        own_setting = getattr(recipe.execution, "serial", None)
        is_serial = serial if own_setting is None and self.asks_address else own_setting
        return ALONE if (self.writes(recipe) if is_serial is None else is_serial) else None

    # Its input.

    def with_inputs(self, recipe: Recipe, values: Mapping[str, Json]) -> Recipe:
        """Return the recipe with further inputs, taken literally: no `{{name}}` in them is a variable. A kind
        without named inputs returns the recipe as it is."""
        return recipe

    def form_found(self, recipe: Recipe, output: Json) -> RecognisedForm | None:
        """Return a form that the response has but does not declare, for a new recipe to state; else None."""
        return None

    def asked(self, recipe: Recipe) -> Json:
        """Return the question, for a judge of the answer; empty if the input is a request."""
        return recipe.input if isinstance(recipe.input, str | dict | list) else ""

    def question(self, recipe: Recipe) -> Any:
        """Return the part of its input that may name files that belong to the question."""
        return recipe.input

    def input_of_text(self, text: str, context: Json) -> Any | None:
        """Return the input that asks this text, or None if the kind takes no text."""
        return None

    def input_of_messages(
        self, messages: Sequence[TraceMessage], files: MessageFiles = ((), ()), case: str = ""
    ) -> Any | None:
        """Return the input that sends these messages, or None if the kind takes no messages. `content` is
        taken literally: no `{{name}}` in it is a variable. `case`: the id of the case in its file."""
        return None

    def unsent(self, messages: Sequence[TraceMessage]) -> Iterator[str]:
        """Name what the input of these messages would lose."""
        return iter(())

    # Its form in an eval.

    eval_input: ClassVar[str] = ""
    """The `type` of an `input:` that only this kind takes; empty if it takes texts."""

    eval_content: ClassVar[Mapping[str, Any]] = {}
    """The JSON Schema of the `content` of such an input."""

    names_target: ClassVar[str] = ""
    """What an `execution:` must state besides its type; empty if the type suffices."""

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        """Return the input for such a content, or its problems, with paths below the content."""
        return self.input_of_text(content, context), []


_ANSWER_KEYS = ("text", "json", "output")
SCORES, CHECKS = "quality_scores", "checks"
"""The keys of an output that hold the scores of a judge for its text, and the outcomes of its checks."""

PASSED, FAILED = "passed", "failed"
"""The outcomes of a check."""


def is_empty(recipe: Recipe, output: Json) -> bool:
    """Whether the answer is empty: no visible text, null or {} instead of JSON, and no tool call. An empty
    list is an answer: there are no items."""
    if isinstance(output, dict) and (recipe.scores is not None or recipe.checks):
        output = {key: value for key, value in output.items() if key not in (SCORES, CHECKS)}
        output = output["text"] if output.keys() == {"text"} else output
    if isinstance(output, dict) and recipe.execution.collect is not None:
        parts = [output[key] for key in _ANSWER_KEYS if key in output]
        return bool(parts) and not output.get("tool_calls") and all(map(is_blank, parts))
    return is_blank(output)


def find_failed_checks(recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
    """Return the checks that the output fails, and its scores below the least score."""
    parts = observation.output if isinstance(observation.output, dict) else {}
    checks, scores = parts.get(CHECKS), parts.get(SCORES)
    for name, outcome in checks.items() if recipe.checks and isinstance(checks, dict) else ():
        if outcome == FAILED:
            reason = observation.failed_checks.get(name, "")
            yield Trouble(f"the check `{name}` fails", "--allow-failing", detail=reason)
    least = recipe.scores.at_least if recipe.scores else None
    if least is None or not isinstance(scores, dict):
        return
    for name, score in scores.items():
        if isinstance(score, int | float) and score < least:
            yield Trouble(f"the score of {name} is {score:g}, below {least:g}", "--allow-failing")


def is_blank(value: Json) -> bool:
    if isinstance(value, str):
        return not any(sign.isprintable() and not sign.isspace() for sign in value)
    return value is None or value == {}
