"""What a recipe kind is: all that the rest of the package must know of one, with the usual answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.model.recipes import Observation, Recipe, Seconds, Skill, Usage
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json, Path
from baselinekit.texts import Mask
from baselinekit.tree.paths import Pattern

INPUT: Path = ("current", "input")
EXECUTION: Path = ("current", "execution")
STORED = "that is now the known-good answer"

Family = Literal["", "commands", "skills", "models"]
"""Where the configuration says what a name means."""

Flag = Literal["--allow-error-status", "--allow-empty", "--allow-failing"]


ALONE = ""
"""What a recipe claims that nobody else may be replayed beside."""


@frozen
class FoundForm:
    """The form that an answer turned out to have: the output read so, what the execution has to state so that
    it always is, and what there is to tell."""

    output: Json
    execution: Mapping[str, Json]
    note: str


@frozen
class Trouble:
    """What says that an observation went wrong. `flag`: what a user says to take it for known-good all the
    same; `visible`: whether the output itself shows it; `detail`: what only the observation tells."""

    message: str
    flag: Flag
    visible: bool = True
    detail: str = ""


EMPTY = Trouble("the model's answer is empty", "--allow-empty")


@frozen
class OutcomePlace:
    """A place of an output that says whether it worked. `step`: which step of a flow, else empty."""

    step: str = ""

    def severity(self, number: int) -> int:
        """0: it worked; 1: it was turned down; 2: it broke."""
        return 0

    def describe(self, number: int) -> str:
        """What a number says that is not 0 in severity."""
        return ""

    def severity_of(self, value: Json) -> int:
        return self.severity(value) if isinstance(value, int) and not isinstance(value, bool) else 0

    def is_worse(self, before: Json, after: Json) -> bool:
        """Whether what was answered well would be answered with an error from now on."""
        return self.severity_of(after) > self.severity_of(before)


class RecipeKind:
    """One kind of recipe: a file of this package makes it, table.py lists it, replaying/ replays it.
    Everybody else asks it, and knows no kind by its name."""

    # Its part of the schema.

    name: ClassVar[str]
    """The `type` of its execution."""

    execution: ClassVar[type[Any]]
    currents: ClassVar[tuple[type[Any], ...]]
    """The forms that its `current:` may have."""

    def current_of(self, asked: Json) -> type[Any]:
        """The form of a `current:` with this raw input."""
        return self.currents[0]

    def normalize(self, asked: Any) -> Any:
        """An input as everybody may expect it, however it is written."""
        return asked

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        """What is wrong with it beyond the types."""
        yield from check_limits(recipe.execution, EXECUTION)

    # Its output. `parts`: what a whole response consists of, each compared only if the baseline states it.

    noun: ClassVar[str] = "response"
    parts: ClassVar[tuple[str, ...]] = ()
    answer: ClassVar[str] = ""
    """The part in which what was asked for stands."""

    headers: ClassVar[str] = ""
    """The part whose names ignore case, and of which further ones are ignored."""

    paths_start_in_answer: ClassVar[bool] = False
    """Whether a dotted path may also start in the answer."""

    def responses(self, recipe: Recipe) -> dict[Path, str]:
        """Where whole responses stand in its output, each with the name of its step."""
        return {(): ""} if self.parts else {}

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        """Where the output says whether it worked."""
        return {}

    def answers(self, recipe: Recipe) -> tuple[Path, ...]:
        """Where all that was answered stands: a body, what a program printed."""
        return tuple((*place, self.answer) for place in self.responses(recipe)) if self.answer else ()

    def starts(self, pattern: Pattern, output: Json) -> list[Path]:
        """From where a path leads somewhere in an output; more than one place: it is ambiguous."""
        return [()]

    # What says that it went wrong.

    def visible_troubles(self, recipe: Recipe, output: Json) -> Iterator[Trouble]:
        """What the output itself says of that."""
        for path, outcome in self.outcomes(recipe).items():
            value = _value_at(output, path)
            if outcome.severity_of(value) == 2:
                yield Trouble(outcome.describe(value), "--allow-error-status")

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        """All that says that it went wrong. What is told here is stored only if the user says so."""
        yield from self.visible_troubles(recipe, observation.output)
        for outcome, value in self.hidden_outcomes(recipe, observation):
            if outcome.severity_of(value) == 2:
                yield Trouble(outcome.describe(value), "--allow-error-status", visible=False)

    def remarks(self, recipe: Recipe, observation: Observation, meaning: str = STORED) -> Iterator[str]:
        """What may be right and may be a mistake, so that it is stored and told: a 404, an exit code of 1."""
        outcomes = self.outcomes(recipe).items()
        seen = [(outcome, _value_at(observation.output, path)) for path, outcome in outcomes]
        for outcome, value in [*seen, *self.hidden_outcomes(recipe, observation)]:
            if outcome.severity_of(value) == 1:
                yield f"{outcome.describe(value)}: {meaning}"
        yield from observation.notes

    def hidden_outcomes(self, recipe: Recipe, observation: Observation) -> list[tuple[OutcomePlace, int]]:
        """Outcomes that its output does not show, with what they were."""
        return []

    # Whom it asks.

    asks_nobody: ClassVar[bool] = False
    """Whether its output is at hand without anybody being asked."""

    brought_by: ClassVar[str] = ""
    """The program whose runs bring its output, where nobody can be asked for it."""

    asks_address: ClassVar[bool] = False
    """Whether it asks an address, which a base_url may give."""

    def base_url(self, recipe: Recipe, override: str | None, default: str | None) -> str | None:
        """The operator's word goes before the recipe's, and that before the configured default."""
        return override or recipe.execution.base_url or default if self.asks_address else None

    def own_command(self, recipe: Recipe) -> tuple[str, ...]:
        """What is typed to compare one that another program brings: no `baselinekit compare` does."""
        return ()

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        """In a few words, as it is written: `GET /api/v1/users`, `skill code-review`."""
        raise NotImplementedError

    def group(self, recipe: Recipe, base_url: Json) -> str:
        """The folder of a new baseline: named after whom it asks."""
        return self.name

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        """The name in the configuration by which it asks, and where that stands."""
        return "", ""

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        """The addresses that it names itself, variables unexpanded."""
        if self.asks_address and recipe.execution.base_url:
            yield recipe.execution.base_url

    def endpoint(self, recipe: Recipe) -> str | None:
        """What follows the address where one is asked."""
        return None

    def distinctions(self, recipe: Recipe, base_url: Json) -> list[str]:
        """What may tell it from another recipe that asks the same, most telling first: as words of an id."""
        return []

    def only_reads(self, recipe: Recipe) -> bool:
        """Whether asking changes nothing on the other side, so that it may be asked again without a word."""
        return False

    # What it costs.

    asks_models: ClassVar[Literal["never", "sometimes", "always"]] = "never"
    """Whether a model answers: what it says varies, and costs something."""

    def asks_model(self, recipe: Recipe, skills: Mapping[str, Skill]) -> bool:
        """Whether this recipe asks one."""
        return self.asks_models == "always"

    def was_asked_of_model(self, environment: Mapping[str, Json], usage: Usage) -> bool:
        """Whether a model has answered. Any program may tell of tokens that it took: one that does neither
        does the same each time."""
        is_known = "model" in environment or (usage.tokens_in, usage.tokens_out) != (None, None)
        return self.asks_models == "always" or (self.asks_models == "sometimes" and is_known)

    def limited(self, recipe: Recipe) -> Iterator[tuple[Path, object]]:
        """What may state limits (timeout, retries …), each with its place."""
        yield EXECUTION, recipe.execution

    def within(self, recipe: Recipe, limit: Seconds) -> Recipe:
        """The recipe with a limit of time, where it has no shorter one of its own."""
        return replace(recipe, execution=with_limit(recipe.execution, limit))

    # Beside whom it is replayed.

    def writes(self, recipe: Recipe) -> bool:
        """Whether it changes what others may read, as far as the recipe shows."""
        return False

    def claim(self, recipe: Recipe, serial: bool | None = None) -> str | None:
        """What nobody else may use while it is replayed: None: nothing, ALONE: everything, else the resource
        that it names. `serial`: what the configuration says of all requests."""
        resource: str | None = getattr(recipe.execution, "resource", None)
        if resource is not None:
            return resource
        stated = getattr(recipe.execution, "serial", None)
        is_serial = serial if stated is None and self.asks_address else stated
        return ALONE if (self.writes(recipe) if is_serial is None else is_serial) else None

    # What it is given.

    def inputs(self, recipe: Recipe) -> tuple[Mapping[str, Json], str | None]:
        """What it is given by name, and the file that gives more."""
        return {}, None

    def with_inputs(self, recipe: Recipe, values: Mapping[str, Json]) -> Recipe:
        """The recipe with further inputs, which stand for themselves: no `{{name}}` in one is a variable.
        Of a kind that is given nothing by name, the recipe as it is."""
        return recipe

    def form_found(self, recipe: Recipe, output: Json) -> FoundForm | None:
        """What a new recipe should say of the form of its answer, which the answer does not say itself."""
        return None

    def asked(self, recipe: Recipe) -> Json:
        """What is asked, for who judges the answer; empty where a request says it."""
        return recipe.input if isinstance(recipe.input, str | dict | list) else ""

    def describe_input(self, recipe: Recipe) -> Json:
        """What is asked, for a person who judges the answer."""
        return self.asked(recipe)

    def question(self, recipe: Recipe) -> Any:
        """The part of its input in which files may be named that belong to the question."""
        return recipe.input

    def working_folder(self, recipe: Recipe) -> str | None:
        """Where paths in its input may start besides the folder of its file."""
        return None

    def input_of_text(self, text: str, context: Json) -> Any | None:
        """The input that asks this text; None where a text cannot be asked."""
        return None

    def input_of_messages(
        self,
        messages: Sequence[TraceMessage],
        guideline_files: Sequence[str] = (),
        input_files: Sequence[str] = (),
        case: str = "",
    ) -> Any | None:
        """The input that asks with these messages, each standing for itself; None where it cannot be asked
        with any. `content` is never expanded: no `{{name}}` in it is a variable. The files are those that the
        messages name, as absolute paths; `case`: the case that asks, as its file calls it."""
        return None

    # What asks it in an eval.

    eval_input: ClassVar[str] = ""
    """The `type` of an `input:` that only this kind is asked with; none where texts ask it."""

    eval_content: ClassVar[Mapping[str, Any]] = {}
    """The JSON Schema of the `content` of such an input."""

    names_target: ClassVar[str] = ""
    """What an `execution:` must say besides its type; empty where the type alone is one."""

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        """The input that such a content means, or what is wrong with it, with places below the content."""
        raise NotImplementedError


def check_limits(stated: object, at: Path) -> Iterator[Problem]:
    """What one request may take, wherever that is said."""
    timeout = getattr(stated, "timeout", None)
    if timeout is not None and timeout <= 0:
        yield Problem("BK108", "a time limit of zero", "a number of seconds above 0", at=(*at, "timeout"))
    if getattr(stated, "resource", None) == "":
        yield Problem(
            "BK108", "a resource without a name", "such as `resource: orders`", at=(*at, "resource")
        )
    if getattr(stated, "take", None) == 0:
        yield Problem("BK108", "no rows to take", "1 or more", at=(*at, "take"))
    numbers = ("retries", "retries"), ("redirects", "redirects"), ("max_body", "bytes"), ("take", "rows")
    for name, counted in numbers:
        number = getattr(stated, name, None)
        if number is not None and number < 0:
            yield Problem("BK108", f"fewer than 0 {counted}", "0 or more", at=(*at, name))


def with_limit(stated: Any, limit: Seconds) -> Any:
    """An execution or a request with the shorter of its own limit and this one."""
    return replace(stated, timeout=limit if stated.timeout is None else min(stated.timeout, limit))


_ANSWERS = ("text", "json", "output")
SCORES, CHECKS = "quality_scores", "checks"
"""Where an output holds what a judge gave its text, and what became of its checks."""

PASSED, FAILED = "passed", "failed"
"""What became of a check."""


def is_empty(recipe: Recipe, output: Json) -> bool:
    """Whether nothing was answered: no text to be seen, null or {} in the place of JSON, and no call of a
    tool. An empty list says that there are none."""
    if isinstance(output, dict) and (recipe.scores is not None or recipe.checks):
        output = {key: value for key, value in output.items() if key not in (SCORES, CHECKS)}
        output = output["text"] if output.keys() == {"text"} else output
    if isinstance(output, dict) and recipe.execution.collect is not None:
        parts = [output[key] for key in _ANSWERS if key in output]
        return bool(parts) and not output.get("tool_calls") and all(map(says_nothing, parts))
    return says_nothing(output)


def unmet(recipe: Recipe, output: Json, why: Mapping[str, str] | None = None) -> Iterator[Trouble]:
    """Checks that the output says it fails, and scores below what they must be."""
    parts = output if isinstance(output, dict) else {}
    checks, scores = parts.get(CHECKS), parts.get(SCORES)
    for name, told in checks.items() if recipe.checks and isinstance(checks, dict) else ():
        if told == FAILED:
            yield Trouble(f"the check `{name}` fails", "--allow-failing", detail=(why or {}).get(name, ""))
    least = recipe.scores.at_least if recipe.scores else None
    if least is None or not isinstance(scores, dict):
        return
    for name, score in scores.items():
        if isinstance(score, int | float) and score < least:
            yield Trouble(f"the score of {name} is {score:g}, below {least:g}", "--allow-failing")


def says_nothing(value: Json) -> bool:
    if isinstance(value, str):
        return not any(sign.isprintable() and not sign.isspace() for sign in value)
    return value is None or value == {}


def _value_at(output: Json, path: Path) -> Json:
    for key in path:
        output = output.get(key) if isinstance(output, dict) and isinstance(key, str) else None
    return output
