"""promptfoo's configuration as a file of test cases: every test with every prompt and every provider, each
prompt filled in. Programs, and what they compute, do not carry over and are reported."""

import csv
import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import pretty
from baselinekit.files.languages import JSON, YAML
from baselinekit.importers.drafts import SourceText
from baselinekit.importers.evaldrafts import DraftEvals, EvalFiles, Reading, as_name
from baselinekit.importers.nunjucks import TemplateLogic, filled
from baselinekit.importers.promptfooasserts import (
    SET,
    Asserted,
    Assertion,
    NotCarried,
    from_short,
    graded,
    in_set,
    number_of,
    typed,
)
from baselinekit.importers.promptfootests import (
    BESIDE,
    DESTINATIONS,
    FILE,
    NOBODY,
    PROGRAMS,
    Provider,
    StatedTest,
    fits,
    lines_of,
    listed,
    mapping,
    model_named,
    providers_of,
    providers_of_test,
    stated_tests,
    unreadable_table,
    values_of,
    without_login,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import describe_value
from baselinekit.secrets.variables import escape_variables
from baselinekit.structs import Struct, replace
from baselinekit.values.places import with_texts

FORM = "promptfoo"
_IS_PATH = lazy_pattern(r"[\w./*-]+\.(?:txt|md|json|jsonl|ya?ml|csv|j2|js|cjs|mjs|ts|py|sh|rb)")
_WITHOUT_EFFECT = (
    *("description", "outputPath", "sharing", "writeLatestResults", "commandLineOptions", "version"),
    *("tracing", "metadata", "evaluateOptions", "tags", "assertionTemplates"),
)
_READ = ("prompts", "providers", "targets", "tests", "defaultTest", "scenarios")
_LOST_KEYS = {
    "redteam": "attacks that promptfoo generates are no cases: run them there",
    "extensions": "hooks are programs: guard.sh and verify.sh of a prompt folder are the same idea",
    "nunjucksFilters": "write the prompts without them",
    "derivedMetrics": "the metrics of a run are in its report",
    "env": "declare what requests need under `variables:` of baselinekit.yaml",
}
_TEST_KEYS = (
    *("description", "vars", "assert", "options", "threshold", "provider"),
    *("metadata", "prompts", "providers"),
)
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "assert": ((list,), "list"),
    "options": ((dict,), "mapping"),
    "vars": ((dict, str), "mapping"),
}
_LOST_IN_TESTS = {
    "transform": "judge the answer as it is",
    "assertScoringFunction": "a threshold, or the weights of graders, say how they count",
    "rubricPrompt": "state the rubric: judges are asked in the words of baselinekit",
    "storeOutputAs": "a skill or a flow has several steps",
}
_PLAIN_MESSAGES = "a message is {role, content: a text}"
_ROLES = get_args(Role)
_OPTIONS = ("prefix", "suffix", "provider", "runSerially", "disableDefaultAsserts", "disableVarExpansion")


def recognises(source: SourceText) -> bool:
    raw = source.value
    if not isinstance(raw, dict) or "evalcases" in raw or "test_cases" in raw:
        return False
    has_targets = any(key in raw for key in ("providers", "targets", "prompts"))
    return has_targets and ("tests" in raw or "scenarios" in raw or "defaultTest" in raw or "redteam" in raw)


class PromptText(Struct):
    """One prompt. `label`: its name; `value`: its value, if it is JSON; `messages`: if it is a list of
    messages; `lost`: what of these cannot be sent here."""

    label: str
    text: str
    value: Json = ABSENT
    messages: tuple[tuple[str, str], ...] = ()
    lost: str = ""


def read(source: SourceText, files: EvalFiles) -> DraftEvals:
    raw = source.value
    reading = Reading(source, files)
    for key in raw:
        if key in _LOST_KEYS:
            reading.leave_out((key,), f"`{key}`", _LOST_KEYS[key])
        elif key not in (*_READ, *_WITHOUT_EFFECT):
            reading.leave_out((key,), f"the key `{key}`", "nothing here is like it")
    prompts = [*_prompts(raw.get("prompts", "{{prompt}}"), reading)]
    key = "providers" if "providers" in raw else "targets"
    providers = [*providers_of(raw.get(key), (key,), reading)]
    cases: list[dict[str, Json]] = []
    for test in stated_tests(raw, reading):
        cases += _cases(test, prompts, providers, reading)
    name = as_name(str(raw.get("description") or "promptfoo"))
    metadata: dict[str, Json] = {"id": name}
    if isinstance(raw.get("description"), str):
        metadata["description"] = raw["description"]
    document: dict[str, Json] = {"schema_version": "1.0", "eval_type": "capability", "metadata": metadata}
    document |= _config(raw.get("evaluateOptions"), cases, reading)
    return reading.draft(name, document | {"test_cases": cases})


def _config(raw: Json, cases: Sequence[dict[str, Json]], reading: Reading) -> dict[str, Json]:
    """The config of all cases: a time limit, and the execution if it is the same for all."""
    config: dict[str, Json] = {}
    options = raw if isinstance(raw, dict) else {}
    repeat = options.get("repeat")
    if isinstance(repeat, int) and repeat > 1:
        reading.note(f"each test was asked {repeat} times: baselinekit run --attempts {repeat}")
    timeout = options.get("timeoutMs")
    if isinstance(timeout, int) and timeout > 0:
        config["timeout_seconds"] = timeout / 1000
    executions = [case.get("execution") for case in cases]
    if cases and executions[0] is not None and all(execution == executions[0] for execution in executions):
        config["execution"] = executions[0]
        for case in cases:
            del case["execution"]
    return {"config": config} if config else {}


# Its prompts.


def _prompts(raw: Json, reading: Reading) -> Iterator[PromptText]:
    listed = raw if isinstance(raw, list) else [raw]
    if isinstance(raw, dict):  # the old form: a file, and what it is called
        listed = [{"id": key, "label": value} for key, value in raw.items()]
    for number, prompt in enumerate(listed):
        at: Path = ("prompts", number) if isinstance(raw, list) else ("prompts",)
        label = prompt.get("label") if isinstance(prompt, dict) else None
        source = (prompt.get("raw") or prompt.get("id")) if isinstance(prompt, dict) else prompt
        if not isinstance(source, str):
            reading.leave_out(at, "a prompt that is no text", "write it as a text or name its file")
            continue
        try:
            texts = (
                [*_prompt_texts(source)] if not _is_file(source) else [*_prompt_files(source, reading, at)]
            )
        except NotCarried as error:
            reading.leave_out(at, error.message, error.hint)
            continue
        for index, (name, text) in enumerate(texts):
            prompt_label = label or name or f"prompt-{number + 1}"
            yield _prompt(str(prompt_label) if len(texts) == 1 else f"{prompt_label}:{index + 1}", text)


def _is_file(text: str) -> bool:
    return text.startswith((FILE, "exec:")) or _IS_PATH.fullmatch(text) is not None


def _prompt_texts(text: str, name: str = "") -> Iterator[tuple[str, str]]:
    """The prompts of a text, which may hold several."""
    for part in re.split(r"^---[ \t]*$", text, flags=re.MULTILINE):
        if part.strip():
            yield name, part.strip() if part != text else text


def _prompt_files(source: str, reading: Reading, at: Path) -> Iterator[tuple[str, str]]:
    path = source.removeprefix(FILE)
    program = path.split(":")[0] if ":" in path else path
    if source.startswith("exec:") or program.endswith(PROGRAMS):
        raise NotCarried(f"the prompt {source!r} is made by a program", "write down what it makes")
    paths = reading.files.fitting(path) if "*" in path else [path]
    if not paths:
        raise NotCarried(f"no file fits {path!r}", BESIDE)
    for file in paths:
        text = reading.text_beside(file)
        if text is None:
            raise NotCarried(f"there is no prompt {file!r}", BESIDE)
        name = os.path.splitext(os.path.basename(file))[0]
        if file.endswith((".txt", ".md", ".j2")):
            yield from _prompt_texts(text.removesuffix("\n"), name)
        elif file.endswith(".csv"):
            try:
                for row in csv.DictReader(lines_of(text)):
                    yield str(row.get("label") or name), str(row.get("prompt") or "")
            except csv.Error as error:
                raise NotCarried(f"{file}: {unreadable_table(error)[0]}") from None
        else:
            yield name, text


def _prompt(label: str, text: str) -> PromptText:
    """The prompt of a text. A list of messages is sent as such."""
    beginning = text.lstrip()
    if not beginning.startswith(("[", "{", '"', "- role:")):
        return PromptText(label, text)
    is_yaml = beginning.startswith("-")
    try:
        value = (YAML if is_yaml else JSON).load(text, label)[0]
    except BaselinekitError:
        return PromptText(label, text)
    parsed = ABSENT if is_yaml else value
    if not isinstance(value, list) or not any(isinstance(item, dict) and "role" in item for item in value):
        return PromptText(label, text, parsed)
    if lost := next(filter(None, map(_lost_of_message, value)), ""):
        return PromptText(label, text, parsed, lost=lost)
    return PromptText(label, text, parsed, tuple((item["role"], item["content"]) for item in value))


def _lost_of_message(message: Json) -> str:
    if not isinstance(message, dict):
        return f"a message that is {describe_value(message)}"
    if message.get("role") not in _ROLES:
        return f"a message whose role is {describe_value(message.get('role'))}"
    if not isinstance(message.get("content"), str):
        return "a message whose content is no text"
    return next((f"`{key}` of a message" for key in message if key not in ("role", "content")), "")


# A test with each prompt and each provider, as cases.


def _cases(
    test: StatedTest, prompts: Sequence[PromptText], providers: Sequence[Provider], reading: Reading
) -> Iterator[dict[str, Json]]:
    for key in [key for key in test.raw if key not in _TEST_KEYS]:
        reading.leave_out((*test.at, key), f"`{key}` of a test", _LOST_IN_TESTS.get(key, ""))
    for key in [key for key in test.default if key not in _TEST_KEYS]:
        message, hint = f"`{key}` of the default test", _LOST_IN_TESTS.get(key, "")
        reading.leave_out((*test.default_at, key), message, hint)
    for key, (types, name) in _TYPES.items():
        if test.raw.get(key) is not None and not isinstance(test.raw[key], types):
            reading.leave_out((*test.at, key), f"`{key}` that is no {name}", "")
        if test.default.get(key) is not None and not isinstance(test.default[key], types):
            reading.leave_out((*test.default_at, key), f"`{key}` of the default test that is no {name}")
    for key in test.merged("options"):
        if key not in _OPTIONS:
            at = test.place_of("options", key)
            reading.leave_out(at, f"`options.{key}`", _LOST_IN_TESTS.get(key, ""))
    try:
        variants = [*values_of(test, reading)]
    except NotCarried as error:
        reading.leave_out(test.at, error.message, error.hint)
        return
    test_providers = providers_of_test(test, providers, reading)
    for values in variants:
        for provider in test_providers:
            for prompt in _select_prompts(prompts, test, provider):
                try:
                    case = _case(test, values, prompt, provider, reading)
                except TemplateLogic as logic:
                    message = f"{logic.message} in the prompt {prompt.label!r}: only names are filled in"
                    reading.leave_out(test.at, message, "write the prompts without it")
                    continue
                except NotCarried as error:
                    reading.leave_out(test.at, error.message, error.hint)
                    continue
                if case is not None:
                    labels = [*([prompt.label] if len(prompts) > 1 else [])]
                    labels += [provider.label] if len(test_providers) > 1 else []
                    yield _named(case, test, labels, reading)


def _select_prompts(prompts: Sequence[PromptText], test: StatedTest, provider: Provider) -> list[PromptText]:
    names = [str(name) for name in listed(test.setting("prompts"))] or [*provider.prompts]
    return [prompt for prompt in prompts if not names or any(fits(name, prompt.label) for name in names)]


def _case(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider, reading: Reading
) -> dict[str, Json] | None:
    case: dict[str, Json] = {"input": _input(test, values, prompt, provider, reading)}
    if provider.execution and not provider.asks_nobody:
        case["execution"] = provider.execution
    graders: list[Json] = []
    for assertion, at in _assertions(test, reading):
        asserted = _grader_of(assertion, at, values, test, reading)
        if asserted is not None and asserted.expected and "expected" in case:
            asserted = _by_pattern(asserted, at, test, reading)
        if asserted is not None:
            case |= {"expected": asserted.expected} if asserted.expected else {}
            graders.append(asserted.grader)
    if not graders:
        hint = "give it an assertion"
        reading.leave_out(test.at, "a test without an assertion that carries over", hint)
        return None
    return case | _with_pass_rule(test, graders, reading)


def _grader_of(
    assertion: Mapping[str, Json], at: Path, values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Asserted | None:
    """The grader of an assertion; None if there is none, which is reported."""
    try:
        if assertion["type"] == SET:
            return _grader_of_set(assertion, at, values, test, reading)
        asserted = graded(_assertion(assertion, values, test, reading))
    except NotCarried as error:
        reading.leave_out(at, error.message, error.hint)
        return None
    except TemplateLogic as logic:
        message = f"{logic.message} in an assertion"
        reading.leave_out(at, message, "write down what it gives")
        return None
    if asserted.note:
        reading.note(asserted.note)
    return asserted


def _grader_of_set(
    group: Mapping[str, Json], at: Path, values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Asserted:
    """A set of assertions whose mean counts, as a composite of their graders."""
    inner: list[Asserted] = []
    for number, assertion in enumerate(listed(group.get("assert"))):
        place = (*at, "assert", number)
        is_typed = isinstance(assertion, dict) and "type" in assertion
        asserted = _grader_of(assertion, place, values, test, reading) if is_typed else None
        if asserted is not None and asserted.expected:
            asserted = _by_pattern(asserted, place, test, reading)
        if asserted is None:
            hint = "a part less is another mean"
            raise NotCarried("an assert-set of which a part does not carry over", hint)
        inner.append(asserted)
    return in_set(inner, group)


def _by_pattern(asserted: Asserted, at: Path, test: StatedTest, reading: Reading) -> Asserted | None:
    """A further expected text as a pattern: a case has only one expectation."""
    value = asserted.expected["value"] if asserted.expected else None
    if not isinstance(value, str):
        reading.leave_out(at, "a further `equals` with JSON", "write a case for it")
        return None
    config = {"method": "regex", "pattern": rf"\A{re.escape(value)}\Z"}
    return replace(asserted, expected=None, grader={**asserted.grader, "config": config})


def _with_pass_rule(test: StatedTest, graders: list[Json], reading: Reading) -> dict[str, Json]:
    """The graders, and when they pass: all of them, or by their mean if a threshold is stated."""
    threshold = test.setting("threshold")
    if threshold is None:
        return {"graders": graders}
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or threshold <= 0:
        at = test.place_of("threshold")
        reading.leave_out(at, f"a threshold of {threshold}", "every case reaches it")
        return {"graders": graders}
    optional = [{**grader, "required": False} for grader in graders if isinstance(grader, dict)]
    rule: dict[str, Json] = {"by": "mean", "pass_at": threshold, "borderline_at": threshold}
    return {"graders": optional, "pass_rule": rule}


def _named(
    case: dict[str, Json], test: StatedTest, labels: Sequence[str], reading: Reading
) -> dict[str, Json]:
    description = test.raw.get("description")
    title = description if isinstance(description, str) else ""
    id = reading.own_id("-".join([title or "test", *labels]))
    head: dict[str, Json] = {"id": id} | ({"name": " · ".join([title, *labels])} if title else {})
    metadata: dict[str, Json] = {"tags": [*labels]} if labels else {}
    metadata |= {"parallel": False} if test.merged("options").get("runSerially") else {}
    sidecar = {"sidecar": test.merged("metadata")} if test.merged("metadata") else {}
    return {**head, **case, **sidecar} | ({"metadata": metadata} if metadata else {})


def _input(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider, reading: Reading
) -> dict[str, Json]:
    options = test.merged("options")
    before, after = options.get("prefix") or "", options.get("suffix") or ""
    if before or after:  # the whole is the prompt, whatever a part of it looks like
        prompt = _prompt(prompt.label, f"{before}{prompt.text}{after}")

    def render(template: str) -> str:
        result = filled(template, values)
        for name in result.empty:
            reading.note(f"{{{{{name}}}}} has no value in some tests: it stands for the empty text, as there")
        return result.text

    if not provider.asks_nobody:
        if prompt.lost:
            raise NotCarried(f"{prompt.lost} in the prompt {prompt.label!r}", _PLAIN_MESSAGES)
        if prompt.messages:
            content: Json = [{"role": role, "content": render(text)} for role, text in prompt.messages]
            return {"type": "messages", "content": content}
    # in a prompt that is JSON each text is filled in by itself: a quote in a value ends no string
    text = render(prompt.text) if prompt.value is ABSENT else pretty(with_texts(prompt.value, render), "  ")
    return {
        "type": NOBODY.eval_input if provider.asks_nobody else "prompt",
        "content": escape_variables(text),
    }


def _assertions(test: StatedTest, reading: Reading) -> Iterator[tuple[dict[str, Json], Path]]:
    """Each assertion of a test and of all tests, with its place. A set that only groups is flattened."""
    is_disabled = test.merged("options").get("disableDefaultAsserts")
    defaults = [] if is_disabled else listed(test.default.get("assert"))
    places: list[tuple[Json, Path]] = [
        (raw, (*test.default_at, "assert", number)) for number, raw in enumerate(defaults)
    ]
    places += test.assertions()
    while places:
        raw, at = places.pop(0)
        if isinstance(raw, str):
            raw = from_short(raw)
        if isinstance(raw, dict) and isinstance(raw.get("$ref"), str):
            templates = mapping(mapping(reading.source.value).get("assertionTemplates"))
            raw = {**mapping(templates.get(raw["$ref"].rpartition("/")[2])), **raw}
        if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
            reading.leave_out(at, "an assertion without a type", "")
        elif raw["type"] == SET and raw.get("threshold") is None and raw.get("weight", 1) == 1:
            inner = enumerate(listed(raw.get("assert")))
            places = [(part, (*at, "assert", number)) for number, part in inner] + places
        else:
            yield raw, at


_TAKEN = ("type", "value", "threshold", "weight", "metric", "provider", "$ref")


def _assertion(
    assertion: Mapping[str, Json], values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Assertion:
    """An assertion with its texts filled in, and its file read."""
    type, negated = typed(str(assertion["type"]))
    if type == "assert-set":
        raise NotCarried(
            "an assert-set with a threshold or a weight", "a composite grader counts in such a way"
        )
    unknown_keys = [key for key in assertion if key not in _TAKEN]
    if unknown_keys:
        raise NotCarried(f"`{unknown_keys[0]}` of `{assertion['type']}`", "write the assertion without it")
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith(FILE):
        value = _file_value(value.removeprefix(FILE), type, reading)
    provider = assertion.get("provider", test.merged("options").get("provider"))
    if isinstance(provider, dict) and "id" not in provider:
        provider = provider.get("text")
    model = None
    if provider is not None and type not in ("contains", "equals", "regex"):
        judge = provider if isinstance(provider, dict) else {"id": provider}
        if not isinstance(judge.get("id"), str):
            raise NotCarried(f"`{assertion['type']}` whose provider has no id", "name a model")
        for key, stated in mapping(judge.get("config")).items():
            if key in DESTINATIONS:
                message = f"`{assertion['type']}` whose judge is at {without_login(str(stated))}"
                raise NotCarried(message, "state the judge as a model with a `base_url` in baselinekit.yaml")
            reading.note(f"`{key}` of the judge {judge['id']!r} is for baselinekit.yaml to state")
        model = model_named(judge, reading)
    weight = number_of(assertion, "weight")
    return Assertion(
        type,
        with_texts(value, lambda text: filled(text, values).text),
        number_of(assertion, "threshold"),
        1 if weight is None else weight,
        negated,
        assertion["metric"] if isinstance(assertion.get("metric"), str) else None,
        model,
    )


def _file_value(path: str, type: str, reading: Reading) -> Json:
    if path.split(":")[0].endswith(PROGRAMS) and type not in ("javascript", "python", "ruby"):
        raise NotCarried(f"the value of `{type}` is computed by {path!r}", "write down what it gives")
    text = reading.text_beside(path.split(":")[0])
    if text is None:
        raise NotCarried(f"there is no file {path!r}", BESIDE)
    if path.endswith((".json", ".yaml", ".yml")):
        try:
            return (JSON if path.endswith(".json") else YAML).load(text, path)[0]
        except BaselinekitError as error:
            raise NotCarried(f"{path} cannot be read: {error.problems[0].message}", "") from None
    return text
