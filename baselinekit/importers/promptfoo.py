"""promptfoo's configuration as a file of test cases: every test with every prompt and every provider, each
prompt filled in. What is a program, or is computed by one, does not carry over and is named."""

import csv
import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from baselinekit.documents.jsontext import pretty
from baselinekit.documents.languages import JSON, YAML
from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.importers.drafts import SourceText
from baselinekit.importers.evaldrafts import DraftEvals, EvalFiles, Reading, as_name
from baselinekit.importers.nunjucks import Logic, filled
from baselinekit.importers.promptfooasserts import (
    SET,
    Asserted,
    Assertion,
    NotCarried,
    from_short,
    graded,
    in_set,
    typed,
)
from baselinekit.importers.promptfootests import (
    BESIDE,
    FILE,
    NOBODY,
    PROGRAMS,
    Provider,
    StatedTest,
    listed,
    mapping,
    model_named,
    provider_of,
    providers_of,
    stated_tests,
    values_of,
    without_login,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.traces import Role
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.variables import unexpanded

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
    asked = any(key in raw for key in ("providers", "targets", "prompts"))
    return asked and ("tests" in raw or "scenarios" in raw or "defaultTest" in raw or "redteam" in raw)


@frozen
class PromptText:
    """One prompt as it is written. `label`: by which others name it; `value`: what it holds, if it is JSON;
    `messages`: if it is a list of them; `lost`: what of such messages cannot be asked here."""

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


def _config(options: Json, cases: Sequence[dict[str, Json]], reading: Reading) -> dict[str, Json]:
    """What holds for all cases: a time limit, and whom they ask, where that is one."""
    config: dict[str, Json] = {}
    stated = options if isinstance(options, dict) else {}
    if isinstance(stated.get("repeat"), int) and stated["repeat"] > 1:
        reading.note(
            f"each test was asked {stated['repeat']} times: baselinekit run --attempts {stated['repeat']}"
        )
    timeout = stated.get("timeoutMs")
    if isinstance(timeout, int) and timeout > 0:
        config["timeout_seconds"] = timeout / 1000
    executions = [case.get("execution") for case in cases]
    if cases and executions[0] is not None and all(one == executions[0] for one in executions):
        config["execution"] = executions[0]
        for case in cases:
            del case["execution"]
    return {"config": config} if config else {}


# Its prompts.


def _prompts(raw: Json, reading: Reading) -> Iterator[PromptText]:
    listed = raw if isinstance(raw, list) else [raw]
    if isinstance(raw, dict):  # the old form: a file, and what it is called
        listed = [{"id": key, "label": value} for key, value in raw.items()]
    for number, one in enumerate(listed):
        at: Path = ("prompts", number) if isinstance(raw, list) else ("prompts",)
        label = one.get("label") if isinstance(one, dict) else None
        stated = (one.get("raw") or one.get("id")) if isinstance(one, dict) else one
        if not isinstance(stated, str):
            reading.leave_out(at, "a prompt that is no text", "write it as a text or name its file")
            continue
        try:
            texts = (
                [*_prompt_texts(stated)] if not _is_file(stated) else [*_prompt_files(stated, reading, at)]
            )
        except NotCarried as why:
            reading.leave_out(at, why.what, why.hint)
            continue
        for place, (name, text) in enumerate(texts):
            own = label or name or f"prompt-{number + 1}"
            yield _prompt(str(own) if len(texts) == 1 else f"{own}:{place + 1}", text)


def _is_file(text: str) -> bool:
    return text.startswith((FILE, "exec:")) or _IS_PATH.fullmatch(text) is not None


def _prompt_texts(text: str, name: str = "") -> Iterator[tuple[str, str]]:
    """The prompts of a text, which may hold several."""
    for part in re.split(r"^---[ \t]*$", text, flags=re.MULTILINE):
        if part.strip():
            yield name, part.strip() if part != text else text


def _prompt_files(stated: str, reading: Reading, at: Path) -> Iterator[tuple[str, str]]:
    way = stated.removeprefix(FILE)
    program = way.split(":")[0] if ":" in way else way
    if stated.startswith("exec:") or program.endswith(PROGRAMS):
        raise NotCarried(f"the prompt {stated!r} is made by a program", "write down what it makes")
    ways = reading.files.fitting(way) if "*" in way else [way]
    if not ways:
        raise NotCarried(f"no file fits {way!r}", BESIDE)
    for one in ways:
        text = reading.text_beside(one)
        if text is None:
            raise NotCarried(f"there is no prompt {one!r}", BESIDE)
        name = os.path.splitext(os.path.basename(one))[0]
        if one.endswith((".txt", ".md", ".j2")):
            yield from _prompt_texts(text.removesuffix("\n"), name)
        elif one.endswith(".csv"):
            for row in csv.DictReader(text.splitlines()):
                yield str(row.get("label") or name), str(row.get("prompt") or "")
        else:
            yield name, text


def _prompt(label: str, text: str) -> PromptText:
    """A prompt that is a list of messages is asked as such."""
    beginning = text.lstrip()
    if not beginning.startswith(("[", "{", '"', "- role:")):
        return PromptText(label, text)
    is_yaml = beginning.startswith("-")
    try:
        value = (YAML if is_yaml else JSON).load(text, label)[0]
    except BaselinekitError:
        return PromptText(label, text)
    held = ABSENT if is_yaml else value
    if not isinstance(value, list) or not any(isinstance(one, dict) and "role" in one for one in value):
        return PromptText(label, text, held)
    if lost := next(filter(None, map(_lost_of_message, value)), ""):
        return PromptText(label, text, held, lost=lost)
    return PromptText(label, text, held, tuple((one["role"], one["content"]) for one in value))


def _lost_of_message(one: Json) -> str:
    if not isinstance(one, dict):
        return f"a message that is {describe_value(one)}"
    if one.get("role") not in _ROLES:
        return f"a message whose role is {describe_value(one.get('role'))}"
    if not isinstance(one.get("content"), str):
        return "a message whose content is no text"
    return next((f"`{key}` of a message" for key in one if key not in ("role", "content")), "")


# A test with each prompt and each provider, as cases.


def _cases(
    test: StatedTest, prompts: Sequence[PromptText], providers: Sequence[Provider], reading: Reading
) -> Iterator[dict[str, Json]]:
    for key in [key for key in test.raw if key not in _TEST_KEYS]:
        reading.leave_out((*test.at, key), f"`{key}` of a test", _LOST_IN_TESTS.get(key, ""), test.file)
    for key in [key for key in test.default if key not in _TEST_KEYS]:
        what, hint = f"`{key}` of the default test", _LOST_IN_TESTS.get(key, "")
        reading.leave_out(("defaultTest", key), what, hint)
    for key, (types, name) in _TYPES.items():
        if test.raw.get(key) is not None and not isinstance(test.raw[key], types):
            reading.leave_out((*test.at, key), f"`{key}` that is no {name}", "", test.file)
        if test.default.get(key) is not None and not isinstance(test.default[key], types):
            reading.leave_out(("defaultTest", key), f"`{key}` of the default test that is no {name}")
    for key in test.merged("options"):
        if key not in _OPTIONS:
            at = (*test.at, "options", key) if key in mapping(test.raw.get("options")) else ("defaultTest",)
            reading.leave_out(at, f"`options.{key}`", _LOST_IN_TESTS.get(key, ""), test.file)
    try:
        variants = [*values_of(test, reading)]
    except NotCarried as why:
        reading.leave_out(test.at, why.what, why.hint, test.file)
        return
    asked = _own_providers(test, providers, reading)
    for values in variants:
        for provider in asked:
            for prompt in _chosen(prompts, test, provider):
                try:
                    case = _case(test, values, prompt, provider, reading)
                except Logic as logic:
                    what = f"{logic.what} in the prompt {prompt.label!r}: only names are filled in"
                    reading.leave_out(test.at, what, "write the prompts without it", test.file)
                    continue
                except NotCarried as why:
                    reading.leave_out(test.at, why.what, why.hint, test.file)
                    continue
                if case is not None:
                    words = [*([prompt.label] if len(prompts) > 1 else [])]
                    words += [provider.label] if len(asked) > 1 else []
                    yield _named(case, test, words, reading)


def _own_providers(test: StatedTest, providers: Sequence[Provider], reading: Reading) -> list[Provider]:
    own = test.said("provider")
    if own is not None:
        stated = own if isinstance(own, dict) else {"id": own}
        named = [one for one in providers if without_login(str(stated.get("id"))) == one.label]
        return named or [provider_of(stated, (*test.at, "provider"), reading)]
    chosen = test.said("providers")
    if not isinstance(chosen, list):
        return list(providers)
    return [one for one in providers if any(_fits(str(name), one.label) for name in chosen)]


def _chosen(prompts: Sequence[PromptText], test: StatedTest, provider: Provider) -> list[PromptText]:
    names = [str(name) for name in listed(test.said("prompts"))] or [*provider.prompts]
    return [one for one in prompts if not names or any(_fits(name, one.label) for name in names)]


def _fits(name: str, label: str) -> bool:
    """Whether a name means what has this label: itself, or one of a group."""
    return label == name or label.startswith(f"{name.removesuffix('*').removesuffix(':')}:")


def _case(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider, reading: Reading
) -> dict[str, Json] | None:
    case: dict[str, Json] = {"input": _input(test, values, prompt, provider, reading)}
    if provider.execution and not provider.asks_nobody:
        case["execution"] = provider.execution
    graders: list[Json] = []
    for stated, at in _assertions(test, reading):
        made = _graded(stated, at, values, test, reading)
        if made is not None and made.expected and "expected" in case:
            made = _by_pattern(made, at, test, reading)
        if made is not None:
            case |= {"expected": made.expected} if made.expected else {}
            graders.append(made.grader)
    if not graders:
        hint = "give it an assertion"
        reading.leave_out(test.at, "a test without an assertion that carries over", hint, test.file)
        return None
    return case | _ruled(test, graders, reading)


def _graded(
    stated: Mapping[str, Json], at: Path, values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Asserted | None:
    """The grader of an assertion; None where there is none, which is told."""
    try:
        if stated["type"] == SET:
            return _graded_set(stated, at, values, test, reading)
        made = graded(_assertion(stated, values, test, reading))
    except NotCarried as why:
        reading.leave_out(at, why.what, why.hint, test.file)
        return None
    except Logic as logic:
        reading.leave_out(at, f"{logic.what} in an assertion", "write down what it gives", test.file)
        return None
    if made.note:
        reading.note(made.note)
    return made


def _graded_set(
    stated: Mapping[str, Json], at: Path, values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Asserted:
    """Assertions of which the mean counts, as a grader that is made of theirs."""
    inner: list[Asserted] = []
    for number, one in enumerate(listed(stated.get("assert"))):
        here = (*at, "assert", number)
        made = _graded(one, here, values, test, reading) if isinstance(one, dict) and "type" in one else None
        if made is not None and made.expected:
            made = _by_pattern(made, here, test, reading)
        if made is None:
            raise NotCarried(
                "an assert-set of which a part does not carry over", "a part less is another mean"
            )
        inner.append(made)
    return in_set(inner, stated)


def _by_pattern(made: Asserted, at: Path, test: StatedTest, reading: Reading) -> Asserted | None:
    """What a case expects once already: the same as a pattern."""
    only = made.expected["value"] if made.expected else None
    if not isinstance(only, str):
        reading.leave_out(at, "a further `equals` with JSON", "write a case for it", test.file)
        return None
    exactly = {"method": "regex", "pattern": rf"\A{re.escape(only)}\Z"}
    return replace(made, expected=None, grader={**made.grader, "config": exactly})


def _ruled(test: StatedTest, graders: list[Json], reading: Reading) -> dict[str, Json]:
    """The graders, and when they pass: all of them, or by their mean where a threshold is stated."""
    threshold = test.said("threshold")
    if threshold is None:
        return {"graders": graders}
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or threshold <= 0:
        reading.leave_out(
            (*test.at, "threshold"), f"a threshold of {threshold}", "every case reaches it", test.file
        )
        return {"graders": graders}
    optional = [{**one, "required": False} for one in graders if isinstance(one, dict)]
    rule: dict[str, Json] = {"by": "mean", "pass_at": threshold, "borderline_at": threshold}
    return {"graders": optional, "pass_rule": rule}


def _named(
    case: dict[str, Json], test: StatedTest, words: Sequence[str], reading: Reading
) -> dict[str, Json]:
    description = test.raw.get("description")
    said = description if isinstance(description, str) else ""
    id = reading.own_id("-".join([said or "test", *words]))
    head: dict[str, Json] = {"id": id} | ({"name": " · ".join([said, *words])} if said else {})
    about: dict[str, Json] = {"tags": [*words]} if words else {}
    about |= {"parallel": False} if test.merged("options").get("runSerially") else {}
    told = {"sidecar": test.merged("metadata")} if test.merged("metadata") else {}
    return {**head, **case, **told} | ({"metadata": about} if about else {})


def _input(
    test: StatedTest, values: Mapping[str, Json], prompt: PromptText, provider: Provider, reading: Reading
) -> dict[str, Json]:
    options = test.merged("options")
    before, after = options.get("prefix") or "", options.get("suffix") or ""
    if before or after:  # what is to be asked is the whole, whatever a part of it looks like
        prompt = _prompt(prompt.label, f"{before}{prompt.text}{after}")

    def said(template: str) -> str:
        found = filled(template, values)
        for name in found.empty:
            reading.note(f"{{{{{name}}}}} has no value in some tests: it stands for the empty text, as there")
        return found.text

    if not provider.asks_nobody:
        if prompt.lost:
            raise NotCarried(f"{prompt.lost} in the prompt {prompt.label!r}", _PLAIN_MESSAGES)
        if prompt.messages:
            content: Json = [{"role": role, "content": said(text)} for role, text in prompt.messages]
            return {"type": "messages", "content": content}
    # in a prompt that is JSON each text is filled in by itself: what is a quote in a value ends none
    text = said(prompt.text) if prompt.value is ABSENT else pretty(_with_texts(prompt.value, said), "  ")
    return {"type": NOBODY.eval_input if provider.asks_nobody else "prompt", "content": unexpanded(text)}


def _with_texts(value: Json, said: Callable[[str], str]) -> Json:
    """A value with each of its texts as `said` has it."""
    if isinstance(value, str):
        return said(value)
    if isinstance(value, list):
        return [_with_texts(one, said) for one in value]
    return {key: _with_texts(one, said) for key, one in value.items()} if isinstance(value, dict) else value


def _assertions(test: StatedTest, reading: Reading) -> Iterator[tuple[dict[str, Json], Path]]:
    """Each assertion of a test and of all tests, with its place. A set that only groups is taken apart."""
    usual = [] if test.merged("options").get("disableDefaultAsserts") else listed(test.default.get("assert"))
    places: list[tuple[Json, Path]] = [
        (one, ("defaultTest", "assert", number)) for number, one in enumerate(usual)
    ]
    own = listed(test.raw.get("assert"))
    places += [(one, (*test.at, "assert", number)) for number, one in enumerate(own)]
    while places:
        one, at = places.pop(0)
        if isinstance(one, str):
            one = from_short(one)
        if isinstance(one, dict) and isinstance(one.get("$ref"), str):
            templates = mapping(mapping(reading.source.value).get("assertionTemplates"))
            one = {**mapping(templates.get(one["$ref"].rpartition("/")[2])), **one}
        if not isinstance(one, dict) or not isinstance(one.get("type"), str):
            reading.leave_out(at, "an assertion without a type", "", test.file)
        elif one["type"] == SET and one.get("threshold") is None and one.get("weight", 1) == 1:
            inner = enumerate(listed(one.get("assert")))
            places = [(each, (*at, "assert", number)) for number, each in inner] + places
        else:
            yield one, at


_TAKEN = ("type", "value", "threshold", "weight", "metric", "provider", "$ref")


def _assertion(
    stated: Mapping[str, Json], values: Mapping[str, Json], test: StatedTest, reading: Reading
) -> Assertion:
    """An assertion with its texts filled in, and its file read."""
    type, negated = typed(str(stated["type"]))
    if type == "assert-set":
        raise NotCarried(
            "an assert-set with a threshold or a weight", "a composite grader counts in such a way"
        )
    others = [key for key in stated if key not in _TAKEN]
    if others:
        raise NotCarried(f"`{others[0]}` of `{stated['type']}`", "write the assertion without it")
    value = stated.get("value")
    if isinstance(value, str) and value.startswith(FILE):
        value = _file_value(value.removeprefix(FILE), type, reading)
    provider = stated.get("provider", test.merged("options").get("provider"))
    if isinstance(provider, dict) and "id" not in provider:
        provider = provider.get("text")
    model = None
    if provider is not None and type not in ("contains", "equals", "regex"):
        model = model_named(provider if isinstance(provider, dict) else {"id": provider}, reading)
    threshold, weight = stated.get("threshold"), stated.get("weight", 1)
    return Assertion(
        type,
        _with_texts(value, lambda text: filled(text, values).text),
        threshold if isinstance(threshold, int | float) and not isinstance(threshold, bool) else None,
        weight if isinstance(weight, int | float) and not isinstance(weight, bool) else 1,
        negated,
        stated["metric"] if isinstance(stated.get("metric"), str) else None,
        model,
    )


def _file_value(way: str, type: str, reading: Reading) -> Json:
    if way.split(":")[0].endswith(PROGRAMS) and type not in ("javascript", "python", "ruby"):
        raise NotCarried(f"the value of `{type}` is computed by {way!r}", "write down what it gives")
    text = reading.text_beside(way.split(":")[0])
    if text is None:
        raise NotCarried(f"there is no file {way!r}", BESIDE)
    if way.endswith((".json", ".yaml", ".yml")):
        try:
            return (JSON if way.endswith(".json") else YAML).load(text, way)[0]
        except BaselinekitError as error:
            raise NotCarried(f"{way} cannot be read: {error.problems[0].message}", "") from None
    return text
