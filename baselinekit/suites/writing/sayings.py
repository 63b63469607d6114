"""What a case says, whatever form it is written in: how two forms of a case are told to be the same, and what
one of them has lost."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

from baselinekit.errors import InvalidInput, Place
from baselinekit.frozen import frozen
from baselinekit.grade.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.grade.graders import positions, row_of
from baselinekit.kinds.messages import is_parts, message_as_json, plain_text
from baselinekit.model.evals import Case, Expected, Suite, Wanted
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.traces import Role, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.finding import covered
from baselinekit.store.project import TEMPLATE
from baselinekit.suites.loading import FetchFile, load_cases, load_evals
from baselinekit.suites.promptfolders import read_template
from baselinekit.suites.targets import NO_TARGETS, Targets
from baselinekit.texts import Mask, clipped
from baselinekit.variables import Scope, names_in, unexpanded

_LONGEST_SHOWN = 60
_GRADERS = "graders"
_SAME_AS_NOTHING: tuple[Json, ...] = (None, "", ())


@frozen
class LeftBehind:
    """Something that does not carry over: what, what to do about it, and of which case it is; `place`: where
    it stands, in a file that no case was read from."""

    what: str
    hint: str = ""
    case: Case | None = None
    place: Place | None = None

    def __str__(self) -> str:
        name = f"{self.case.name or self.case.id}: " if self.case is not None else ""
        return f"{name}{self.what}" + (f": {self.hint}" if self.hint else "")


# A value of the model as a file states it: what is as it would be anyhow is not said.


def stated(value: Any) -> Any:
    """The value with its classes as mappings, without what nobody would write."""
    if is_dataclass(value) and not isinstance(value, type):
        return stated_fields(value)
    if isinstance(value, tuple | list):
        return [stated(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): stated(item) for key, item in value.items()}
    return value


def stated_fields(record: Any) -> dict[str, Any]:
    """The fields of a record that are not as they would be anyhow."""
    found = {}
    for one in fields(record):
        value = getattr(record, one.name)
        usual = one.default_factory() if one.default_factory is not MISSING else one.default
        if value is not ABSENT and (usual is MISSING or value != usual or type(value) is not type(usual)):
            found[one.name] = stated(value)
    return found


def tidy(number: float) -> float | int:
    """A number as somebody writes it."""
    return int(number) if float(number).is_integer() else number


# What a case asks, as it is sent.


@frozen
class AskedText:
    """Messages with their roles, each text as our own files have it: `{{name}}` is a variable of the project,
    and `\\{{name}}` stands for itself. `other`: the input of what is asked with no messages."""

    messages: tuple[tuple[Role, str], ...] = ()
    other: Json = None

    @property
    def text(self) -> str | None:
        """The one text that is asked, where it is no more than that."""
        return self.messages[0][1] if len(self.messages) == 1 and self.messages[0][0] == "user" else None

    @property
    def variables(self) -> list[str]:
        return list(dict.fromkeys(name for _, text in self.messages for name in names_in(text)))


def question_of(case: Case, root: str) -> AskedText:
    """What a case asks. A template is filled in: nothing of it is left to a later time."""
    asked = case.recipe.input
    if isinstance(asked, str):
        return AskedText((("user", asked),))
    if getattr(asked, "prompt", None) == TEMPLATE and case.folder is not None:
        return AskedText((("user", _filled(case, root)),))
    if getattr(asked, "text", None) is not None:
        return AskedText((("user", asked.text),))
    if getattr(asked, "messages", None):
        return AskedText(tuple((one.role, _text_of(one)) for one in asked.messages))
    return AskedText(other=stated(asked))


def _text_of(message: Any) -> str:
    """What a message says: one that is kept with its parts stands for itself."""
    content = message.content
    return content if isinstance(content, str) else unexpanded(plain_text(content))


def _filled(case: Case, root: str) -> str:
    """The template of a prompt with the inputs of a case."""
    template, problems = read_template(root, case.folder.path if case.folder else "")
    if template is None:
        raise InvalidInput(*problems)
    inputs = Scope().expand(case.recipe.input.inputs)
    missing = {name: f"{{{{{name}}}}}" for name in template.names if name not in inputs}
    text = Scope({**missing, **inputs}).expand(template.text)
    return unexpanded(text if isinstance(text, str) else str(text))


# Messages as files state them.


def format_messages(messages: Sequence[TraceMessage], role: str) -> Json:
    """A lone text is itself; anything else is a list of messages."""
    only = messages[0] if len(messages) == 1 else None
    if only is not None and only.role == role and only == TraceMessage(only.role, str(only.content)):
        return only.content
    return [message_of(message) for message in messages]


def message_of(message: TraceMessage) -> dict[str, Json]:
    content = message.content
    if is_parts(content):
        content = [{"type": part["type"], "value": part["value"]} for part in content]
    return message_as_json(replace(message, content=content))


# What is checked, each check with all that it needs.


Equivalent = Callable[[Grader, Case], Sequence[Grader]]
"""The graders by which a form says what one grader says: that one itself, where it has nothing better."""


def by_themselves(grader: Grader, case: Case) -> list[Grader]:
    """The same graders without what the case expects beside them: a text that is expected is a pattern, and a
    list of texts what has to be there."""
    expected, method = case.expected, grader.method
    if isinstance(method, MustInclude) and not method.alternatives:
        lists = Contains(all=[*method.must_include], none=[*method.must_not_include])
        return [replace(grader, method=lists)]
    if expected is None or getattr(method, "of", None) or expected.of:
        return [grader]
    found: Method | None = None
    if isinstance(method, ExactMatch):
        found = _exactly(method, expected)
    elif isinstance(method, Contains) and not method.states_texts:
        found = _containing(method, expected)
    elif isinstance(method, RegexMatch) and method.pattern is None:
        patterns = [expected.value, *expected.alternatives]
        if all(isinstance(one, str) for one in patterns):
            either = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{one})" for one in patterns)
            found = replace(method, pattern=either)
    return [grader if found is None else replace(grader, method=found)]


def _exactly(method: ExactMatch, expected: Expected) -> RegexMatch | None:
    """The pattern of exactly these texts, with the same trimming."""
    texts = [expected.value, *expected.alternatives]
    if not all(isinstance(text, str) for text in texts):
        return None
    blank = r"\s*" if method.trim_whitespace else ""
    escaped = [re.escape(method.normalize(text)) for text in texts]
    if method.normalize_newlines:
        escaped = [text.replace("\\\n", r"\r?\n") for text in escaped]
    flag = "" if method.case_sensitive else "(?i)"
    inner = escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"
    return RegexMatch(rf"{flag}\A{blank}{inner}{blank}\Z")


def _containing(method: Contains, expected: Expected) -> Contains | None:
    """The lists of a check that has what it looks for from the expectation."""
    values = [expected.value, *expected.alternatives]
    if len(values) == 1:
        every = expected.value if isinstance(expected.value, list) else [expected.value]
        return replace(method, all=list(map(str, every)))
    if any(isinstance(value, list) for value in values):
        return None
    return replace(method, any=list(map(str, values)))


# What has become of a case.


def sayings(case: Case, root: str, equivalent: Equivalent | None = None) -> dict[str, Any]:
    """What a case says, by what it is called."""
    graders = [one for grader in case.graders for one in (equivalent or _itself)(grader, case)]
    asked = question_of(case, root)
    expected = None if equivalent else case.expected
    return {
        "the question": (asked.messages, asked.other),
        **{f"who is asked ({key})": value for key, value in stated_fields(case.recipe.execution).items()},
        **{f"`{key}`": value for key, value in _plain(case).items()},
        **{f"what is wanted ({key})": value for key, value in _wanted(case.wanted).items()},
        "the pass rule": _pass_rule(case),
        "expected": stated(expected) if expected else None,
        "where its judges' programs run": _folder_of_programs(case),
        "guard.sh": case.scripts.before,
        "verify.sh": case.scripts.after,
        _GRADERS: graders,
    }


def _folder_of_programs(case: Case) -> str | None:
    """From where programs that judge start; none where none does."""
    starts = any(row_of(part).starts(part.method) for _, part in positions(case.graders))
    return posixpath.dirname(case.source.file) if starts else None


def _itself(grader: Grader, case: Case) -> Sequence[Grader]:
    return [grader]


def _pass_rule(case: Case) -> str:
    """When it passes. By the usual mean, with every grader a gate, it is the same as by all: who passes has
    a score that reaches it."""
    rule = case.pass_rule
    gated = rule == PassRule("mean") and all(grader.required for grader in case.graders)
    if rule.by == "all" or gated:
        return "all required graders"
    passing = ", which passes" if rule.borderline_passes else ""
    return f"a mean of {rule.pass_at:g}, borderline from {rule.borderline_at:g}{passing}"


_PLAIN = (
    *("kind", "description", "category", "tags", "difficulty", "criticality"),
    *("timeout", "retries", "parallel", "weight", "skip"),
)


def _plain(case: Case) -> dict[str, Any]:
    said = {key: getattr(case, key) for key in _PLAIN}
    return said | ({"judge_after_failure": case.judge_after_failure} if judges_late(case) else {})


def judges_late(case: Case) -> bool:
    """Whether it makes a difference to it if models are asked after a check has failed."""
    return {"code", "model"} <= {grader.kind for grader in case.graders}


def _wanted(wanted: Wanted) -> dict[str, Any]:
    """What is wanted; what was asked is the question."""
    said = stated_fields(wanted)
    said.pop("asked", None)
    return said


def lost_between(
    before: Mapping[str, Any], after: Mapping[str, Any], mask: Mask = covered
) -> Iterator[tuple[str, bool]]:
    """What one says and the other does not, in words; and whether it is more than what the other form adds
    where nothing was said."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if name == _GRADERS:
            yield from ((message, True) for message in _lost_graders(old or (), new or ()))
        elif old == new or (_is_nothing(old) and _is_nothing(new)):
            continue
        elif _is_nothing(old):
            yield f"{name} becomes {_shown(new, mask)}: nothing was said of it", False
        elif _is_nothing(new):
            yield f"{name}: {_shown(old, mask)}", True
        else:
            yield f"{name}: {_shown(old, mask)} would become {_shown(new, mask)}", True


def _lost_graders(before: Sequence[Grader], after: Sequence[Grader]) -> Iterator[str]:
    """Graders that are not there any more, and what is said otherwise of those that are."""
    rest = list(after)
    for grader in before:
        same = [one for one in rest if (one.kind, _method(one)) == (grader.kind, _method(grader))]
        same.sort(key=lambda one: (one.weight, one.required) != (grader.weight, grader.required))
        if not same:
            yield f"the grader {grader.name!r}"
            continue
        rest.remove(same[0])
        if same[0].weight != grader.weight:
            yield f"the weight {grader.weight:g} of {grader.name!r} would become {same[0].weight:g}"
        if same[0].required != grader.required:
            words = {True: "required", False: "optional"}
            yield f"{grader.name!r} is {words[grader.required]} and would be {words[same[0].required]}"
    for grader in rest:
        yield f"a grader {grader.name!r} would be added"


def _method(grader: Grader) -> Method:
    """What it does, wherever it and its parts stand."""
    return row_of(grader).without_places(grader.method)


def _is_nothing(value: Any) -> bool:
    return value in _SAME_AS_NOTHING or value == [] or value == {}


def _shown(value: Any, mask: Mask) -> str:
    if isinstance(value, tuple | list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    text = str(value) if not isinstance(value, str) else repr(value)
    return clipped(" ".join(text.split()), _LONGEST_SHOWN, mask)


# What a writer gives.


@frozen
class Written:
    """Files, by their names from where they are to stand, the one with the cases first. `cases`: those that
    stand there, in the order in which they are read back; `lost`: what the writer knows that it cannot say,
    and `notes` what it says in other words."""

    files: dict[str, str]
    cases: tuple[Case, ...] = ()
    lost: tuple[LeftBehind, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class CaseReader:
    """Eval files as the project reads them: from its root, with whom it can ask by a name, and what reads the
    files of git repositories. `mask`: takes the secrets out of what is told of them."""

    root: str
    fetch_file: FetchFile | None = None
    targets: Targets = NO_TARGETS
    mask: Mask = covered

    def suite(self, path: str) -> Suite:
        return load_evals([path], self.root, fetch_file=self.fetch_file, targets=self.targets)

    def cases(self, file: str) -> list[Case]:
        return load_cases([file], self.root, fetch_file=self.fetch_file, targets=self.targets)


@frozen
class Wish:
    """What is to be written. `name`: what the cases are called together; `today`: as files state a day."""

    cases: tuple[Case, ...]
    reader: CaseReader
    name: str
    description: str | None = None
    today: str = ""

    @property
    def root(self) -> str:
        return self.reader.root
