"""What the configuration says of a model: which form it has, and what is wrong with it."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.recipes import Ask, Limits, Message, Model
from baselinekit.models import anthropic, callable, command, llm, openai
from baselinekit.models.setting import Form, World

FORMS = {
    "openai": openai.FORM,
    "anthropic": anthropic.FORM,
    "command": command.FORM,
    "python": callable.FORM,
    "llm": llm.FORM,
}
GROUP = "baselinekit.models"
DEFAULT_TIMEOUT = 120.0

_KINDS = (*FORMS, "form")
_ALWAYS = frozenset(("system", "prices", "concurrency", "per_minute", "timeout", *_KINDS))
_MOST_AT_ONCE = 512
_EXAMPLE = "models: {%s: {openai: MODEL, base_url: 'http://127.0.0.1:11434'}}"


def entry(name: str, models: Mapping[str, Model]) -> Model:
    """The entry of a model, which must be there and say in one way how it is asked."""
    if name not in models:
        hint = nearest(name, models) or "declare it in baselinekit.yaml"
        raise InvalidInput(Problem("BK601", f"no model is called {name!r}", f"{hint} ({_EXAMPLE % name})"))
    model = models[name]
    stated = [kind for kind in _KINDS if getattr(model, kind) is not None]
    if len(stated) != 1:
        what = f"states {' and '.join(stated)}" if stated else "does not say how it is called"
        hint = f"state one of {', '.join(_KINDS)}"
        raise InvalidInput(Problem("BK602", f"the model {name!r} {what}", hint, at=("models", name)))
    return model


def kind_of(model: Model) -> str:
    return next(kind for kind in _KINDS if getattr(model, kind) is not None)


def form_of(name: str, model: Model) -> Form:
    """By the table; what stands under `form` is looked for among the installed packages."""
    kind = kind_of(model)
    if kind in FORMS:
        return FORMS[kind]
    from importlib import metadata  # it takes longer than all the rest here

    wanted = str(model.form)
    found = {point.name: point for point in metadata.entry_points(group=GROUP)}
    if wanted not in found:
        hint = nearest(wanted, found) or f"install the package that provides it (entry point of {GROUP})"
        what = f"the model {name!r} has a form that no installed package provides: {wanted!r}"
        raise InvalidInput(Problem("BK604", what, hint, at=("models", name, "form")))
    try:
        form = found[wanted].load()
    except Exception as error:  # a package of somebody else
        what = f"the form {wanted!r} cannot be loaded: {type(error).__name__}: {error}"
        raise InvalidInput(
            Problem("BK604", what, "correct that package", at=("models", name, "form"))
        ) from None
    if not isinstance(form, Form):
        what = f"the entry point {wanted!r} does not name a Form"
        raise InvalidInput(Problem("BK604", what, "correct that package", at=("models", name, "form")))
    return form


def filled(ask: Ask, model: Model) -> Ask:
    """The question with what it leaves to the model's entry."""
    messages = ask.messages
    if model.system and not any(message.role == "system" for message in messages):
        messages = (Message("system", model.system), *messages)
    return replace(
        ask,
        messages=messages,
        temperature=model.temperature if ask.temperature is None else ask.temperature,
        max_tokens=model.max_tokens if ask.max_tokens is None else ask.max_tokens,
        timeout=next(float(s) for s in (ask.timeout, model.timeout, DEFAULT_TIMEOUT) if s is not None),
    )


def problems_of(name: str, model: Model, form: Form, limits: Limits, world: World) -> Iterator[Problem]:
    """Everything that can be known to be wrong before anybody is asked."""
    found = [*_useless(model, form), *_numbers(model), *form.check(model, world)]
    if limits.usd is not None and model.prices is None and not form.tells_cost(model):
        hint = (
            "state `prices: {input: 0.5, output: 1.5}` in dollars per million tokens; 0 if it costs nothing"
        )
        found.append(Problem("BK605", "`limits: usd` cannot be kept without prices", hint))
    for problem in found:
        at = ("models", name, *(problem.at or ()))
        yield replace(problem, message=f"the model {name!r}: {problem.message}", at=at)


def _useless(model: Model, form: Form) -> Iterator[Problem]:
    blank = Model()
    for field in fields(Model):
        if field.name not in _ALWAYS | form.uses and getattr(model, field.name) != getattr(blank, field.name):
            what = f"`{field.name}` has no effect on a model of the form `{kind_of(model)}`"
            yield Problem("BK602", what, "remove it", at=(field.name,))


def _numbers(model: Model) -> Iterator[Problem]:
    least = {"concurrency": 1, "per_minute": 1, "max_tokens": 1, "retries": 0, "timeout": 0.001}
    for name, low in least.items():
        value = getattr(model, name)
        if value is not None and value < low:
            yield Problem("BK602", f"`{name}: {value}` is too small", f"{low} or more", at=(name,))
    if (model.concurrency or 0) > _MOST_AT_ONCE:
        what = f"`concurrency: {model.concurrency}` is too much"
        yield Problem("BK602", what, f"at most {_MOST_AT_ONCE}", at=("concurrency",))
    if model.prices and min(model.prices.input, model.prices.output) < 0:
        yield Problem("BK602", "a price is below 0", "dollars per million tokens", at=("prices",))
