"""What a record must hold beyond its types: names, addresses, times, and what excludes what."""

import re
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit

from baselinekit.errors import Problem, nearest
from baselinekit.model.baselines import (
    BOUNDS,
    FLAGS,
    Age,
    FieldRule,
    Known,
    Metadata,
    Rules,
    Tolerance,
    Variant,
)
from baselinekit.model.comparison import method_problems
from baselinekit.model.recipes import CommandInput, HttpExecution, HttpFlow, HttpRequest, PromptInput, Recipe
from baselinekit.model.values import ABSENT, Path
from baselinekit.placeholders.accepts import seconds

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_BODIES = ("json", "body", "form", "files")


def check_id(text: str, at: Path = ("id",)) -> Iterator[Problem]:
    if not ID.fullmatch(text):
        what = f"{text!r} is no id"
        hint = "letters, digits, `.`, `_` and `-`, the first a letter or a digit, at most 128"
        yield Problem("BK108", what, hint, at=at)


def check_known(known: Known | None) -> Iterator[Problem]:
    if known is None:
        return
    if known.output is ABSENT and known.output_file is None and not known.variants:
        what = "`baseline` has no output"
        yield Problem(
            "BK104", what, "add `output`, or capture it: baselinekit capture from", at=("baseline",)
        )
    if known.output is not ABSENT and known.output_file is not None:
        what = "both `output` and `output_file` are given"
        yield Problem("BK108", what, "keep one of them", at=("baseline", "output_file"))
    if known.captured_at is not None:
        yield from _check_time(known.captured_at, ("baseline", "captured_at"))
    for number, variant in enumerate(known.variants):
        yield from _check_variant(variant, ("baseline", "variants", number))


def _check_variant(variant: Variant, at: Path) -> Iterator[Problem]:
    if (variant.output is ABSENT) == (variant.output_file is None):
        hint = "add `output`" if variant.output is ABSENT else "keep one of `output` and `output_file`"
        yield Problem("BK108", "a variant has one output", hint, at=at)
    if not variant.when:
        what = "a variant that is for every place is the output itself"
        yield Problem("BK108", what, "say where it is right: when: {environment: staging}", at=(*at, "when"))
    if variant.captured_at is not None:
        yield from _check_time(variant.captured_at, (*at, "captured_at"))


def check_metadata(metadata: Metadata) -> Iterator[Problem]:
    if metadata.last_passed is not None:
        yield from _check_time(metadata.last_passed, ("metadata", "last_passed"))
    if metadata.failure_count < 0:
        what = f"failure_count is {metadata.failure_count}, and counts failures"
        yield Problem("BK108", what, "0 or more", at=("metadata", "failure_count"))


def check_rules(rules: Rules) -> Iterator[Problem]:
    at: Path = ("comparison",)
    for name, bound in rules.tolerance.items():
        if isinstance(bound, bool):
            yield from _check_flag(name, (*at, "tolerance", name))
    if rules.type == "semantic" or rules.fields:
        yield from method_problems(rules)
    yield from _check_similarity(rules.min_similarity, (*at, "min_similarity"))
    yield from _check_age(rules.max_age, (*at, "max_age"))
    for path, rule in rules.fields.items():
        yield from _check_field(rule, (*at, "fields", path))


def check_lists(rules: Rules) -> Iterator[Problem]:
    """Two lists may stand in the comparison or in its options, and not in both."""
    for name in ("ignore_values", "require_keys"):
        if getattr(rules, name) and rules.options and getattr(rules.options, name):
            what = f"`{name}` is given here and under `options`"
            yield Problem("BK108", what, "keep one of the two lists", at=("comparison", name))


def check_recipe(recipe: Recipe) -> Iterator[Problem]:
    asked, execution = recipe.input, recipe.execution
    at: Path = ("current", "input")
    if isinstance(asked, HttpRequest):
        yield from _check_request(asked, at)
    elif isinstance(asked, HttpFlow):
        if not asked.steps:
            yield Problem("BK108", "a flow without steps", "add a request", at=(*at, "steps"))
        for index, step in enumerate(asked.steps):
            yield from _check_request(step, (*at, "steps", index))
        yield from _check_names(asked, (*at, "steps"))
    elif isinstance(asked, CommandInput) and not (asked.argv and asked.argv[0]):
        yield Problem("BK108", "`argv` names no program", "such as [mytool, --version]", at=(*at, "argv"))
    elif isinstance(asked, PromptInput):
        stated = [name for name in ("prompt", "text", "messages") if getattr(asked, name) is not None]
        if len(stated) != 1:
            names = " and ".join(stated) or "none of them"
            what = f"a prompt has one of prompt, text and messages, not {names}"
            yield Problem("BK352", what, "`prompt: FILE` names a template", at=at)
    if isinstance(execution, HttpExecution):
        yield from check_base(execution.base_url, ("current", "execution", "base_url"))
        yield from _check_headers(execution.headers, ("current", "execution", "headers"))
    yield from check_limits(execution, ("current", "execution"))


def check_limits(stated: object, at: Path) -> Iterator[Problem]:
    """What one request may take, wherever that is said."""
    timeout = getattr(stated, "timeout", None)
    if timeout is not None and timeout <= 0:
        yield Problem("BK108", "a time limit of nothing", "a number of seconds above 0", at=(*at, "timeout"))
    for name, counted in (("retries", "retries"), ("redirects", "redirects"), ("max_body", "bytes")):
        number = getattr(stated, name, None)
        if number is not None and number < 0:
            yield Problem("BK108", f"fewer than 0 {counted}", "0 or more", at=(*at, name))


def _check_names(flow: HttpFlow, at: Path) -> Iterator[Problem]:
    """A step that `collect` could mean is one."""
    first: dict[str, int] = {}
    for index, step in enumerate(flow.steps):
        if step.name is not None and first.setdefault(step.name, index) != index:
            what = f"two steps are called {step.name!r}: {first[step.name] + 1} and {index + 1}"
            yield Problem("BK108", what, "give each a name of its own", at=(*at, index, "name"))


def _check_request(request: HttpRequest, at: Path) -> Iterator[Problem]:
    if not _TOKEN.fullmatch(request.method) and "{{" not in request.method:
        what = f"{request.method!r} is no HTTP method"
        yield Problem("BK108", what, "such as GET or POST", at=(*at, "method"))
    targets = [name for name in ("endpoint", "path", "url") if getattr(request, name) is not None]
    if len(targets) != 1:
        what = f"`{'` and `'.join(targets)}` exclude each other" if targets else "the request names no target"
        hint = "keep one of them" if targets else "add `endpoint: /…`, or `url: https://…`"
        code = "BK108" if targets else "BK104"
        yield Problem(code, what, hint, at=(*at, targets[1] if targets else "endpoint"))
    for name in targets:
        yield from _check_target(name, getattr(request, name), (*at, name))
    if request.headers:
        yield from _check_headers(request.headers, (*at, "headers"))
    bodies = [name for name in _BODIES if getattr(request, name) not in (ABSENT, None)]
    if len(bodies) > 1 and bodies != ["form", "files"]:
        what = f"`{'` and `'.join(bodies)}` exclude each other"
        yield Problem("BK108", what, "keep one of them (files may go with form)", at=(*at, bodies[1]))
    yield from check_limits(request, at)


def _check_target(name: str, text: str, at: Path) -> Iterator[Problem]:
    if name == "url":
        yield from check_url(text, at)
    elif not text.startswith(("/", "{{")):
        hint = f"put the whole address under `url`: {text}" if "://" in text else f"such as /{text}"
        yield Problem("BK108", f"`{name}` must start with `/`", hint, at=at)


def check_base(url: str | None, at: Path) -> Iterator[Problem]:
    """An address that an `endpoint` goes behind."""
    yield from check_url(url, at)
    if url is not None and "{{" not in url and ("?" in url or "#" in url):
        what = "a base_url has no `?` and no `#`"
        yield Problem("BK108", what, "the endpoint goes behind it: write them there", at=at)


def check_url(url: str | None, at: Path) -> Iterator[Problem]:
    if url is None or url.startswith("{{"):
        return
    try:
        parts = urlsplit(url)
        known = parts.scheme.lower() in ("http", "https") and bool(parts.netloc)
        known = known and ("{{" in url or (parts.port != 0 and not re.search(r"\s", parts.netloc)))
    except ValueError:
        known = False
    if not known:
        named = re.sub("//[^/]*@", "//…@", url.partition("?")[0])
        what = f"not an absolute http or https address, {named!r}"
        yield Problem("BK108", what, "such as https://api.example.com", at=at)
    elif "@" in parts.netloc:
        what = "the address holds credentials"
        yield Problem("BK108", what, "remove them, and use `auth` with variables", at=at)


def _check_headers(headers: "dict[str, str | int | float | bool]", at: Path) -> Iterator[Problem]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) and "{{" not in name:
            yield Problem("BK108", f"{name!r} is no header name", "letters, digits and `-`", at=(*at, name))
        if isinstance(value, str) and ("\n" in value or "\r" in value or "\0" in value):
            yield Problem("BK108", "a header value has one line", "remove the line break", at=(*at, name))


def _check_field(rule: FieldRule, at: Path) -> Iterator[Problem]:
    yield from _check_similarity(rule.min_similarity, (*at, "min_similarity"))
    for name, bound in rule.tolerance.items():
        here = (*at, "tolerance", name)
        if isinstance(bound, bool):
            yield from _check_flag(name, here)
        elif not isinstance(bound, Tolerance) and name not in BOUNDS:
            yield Problem("BK108", f"{name!r} is no bound", _near(name, BOUNDS), at=here)


def _check_age(stated: "str | Age | None", at: Path) -> Iterator[Problem]:
    limits = {"": stated} if not isinstance(stated, Age) else {"warn": stated.warn, "fail": stated.fail}
    for name, limit in limits.items():
        if limit is not None and seconds(limit) is None:
            hint = "such as 90d, 12h or 2.5d"
            yield Problem("BK108", f"{limit!r} is no length of time", hint, at=(*at, name) if name else at)


def _check_flag(name: str, at: Path) -> Iterator[Problem]:
    if name not in FLAGS:
        what = f"{name!r} is no switch, and as a path it takes a mapping"
        hint = nearest(name, FLAGS) or f"{name}: {{min_delta: …, max_delta: …}}"
        yield Problem("BK103", what, hint, at=at)


def _check_similarity(value: "int | float | None", at: Path) -> Iterator[Problem]:
    if value is not None and not 0 <= value <= 1:
        yield Problem("BK108", f"min_similarity is {value}", "between 0 and 1", at=at)


def _check_time(text: str, at: Path) -> Iterator[Problem]:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        what = f"{text!r} is no ISO 8601 time"
        yield Problem("BK108", what, "such as 2024-01-20T14:00:00Z", at=at)


def _near(name: str, known: "tuple[str, ...]") -> str:
    return nearest(name, known) or f"one of {', '.join(known)}"
