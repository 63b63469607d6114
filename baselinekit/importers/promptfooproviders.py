"""The providers of a promptfoo configuration: models by the names that our configuration gives them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from baselinekit.importers.evaldrafts import Reading, as_name
from baselinekit.importers.promptfootests import FILE, data_of
from baselinekit.kinds.table import KINDS
from baselinekit.model.values import Json, Path

_DATA = (".yaml", ".yml", ".json")
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "maxTokens": "max_tokens"}
_PLAIN_PROVIDERS = ("openai", "anthropic")
_KINDS_OF_ASKING = ("chat", "responses", "completion", "messages")
_WITHOUT_CONFIG = ("apiKey", "apiKeyEnvar", "apiKeyRequired", "apiBaseUrl", "apiHost", "organization", "cost")
"""Of a provider: where it is and what it costs, which the configuration says."""

NOBODY = next(kind for kind in KINDS.values() if kind.asks_nobody)
"""What answers with its input."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Whom cases ask: nobody for an echo. `prompts`: those that it is asked with, where not all are."""

    label: str
    execution: dict[str, Json]
    prompts: tuple[str, ...] = ()

    @property
    def asks_nobody(self) -> bool:
        return self.execution.get("type") == NOBODY.name


def providers_of(raw: Json, at: Path, reading: Reading) -> Iterator[Provider]:
    listed = raw if isinstance(raw, list) else [raw] if raw is not None else []
    for number, one in enumerate(listed):
        here = (*at, number) if isinstance(raw, list) else at
        if isinstance(one, str) and one.startswith(FILE) and one.endswith(_DATA):
            inner = data_of(one.removeprefix(FILE), reading, here)
            yield from providers_of(inner, here, reading) if inner is not None else ()
            continue
        if isinstance(one, dict) and "id" not in one and len(one) == 1:  # the old form: {id: {config}}
            ((id, rest),) = one.items()
            one = {"id": id, **(rest if isinstance(rest, dict) else {})}
        stated = one if isinstance(one, dict) else {"id": one}
        if not isinstance(stated.get("id"), str):
            reading.leave_out(here, "a provider without an id", "name a model")
            continue
        yield provider_of(stated, here, reading)
    if not listed:
        yield Provider("", {})


def provider_of(stated: Mapping[str, Json], at: Path, reading: Reading) -> Provider:
    """Whom a provider means: a model of the configuration, or nobody."""
    id, config = str(stated["id"]), stated.get("config")
    label = str(stated.get("label") or id)
    wanted = stated.get("prompts")
    prompts = tuple(map(str, wanted)) if isinstance(wanted, list) else ()
    if id == "echo":
        return Provider(label, {"type": NOBODY.name}, prompts)
    execution: dict[str, Json] = {"type": "prompt", "model": model_named(stated, reading)}
    family = id.split(":")[0]
    if id.startswith((FILE, "exec:", "python:", "javascript:", "golang:", "ruby:", "package:", "http", "ws")):
        what = f"the provider {id!r} is a program or an address of its own"
        hint = f"name what it is in baselinekit.yaml: models: {{{execution['model']}: {{command: […]}}}}"
        reading.leave_out(at, what, hint)
    elif family not in _PLAIN_PROVIDERS and execution["model"] in reading.models:
        reading.models[str(execution["model"])] = None
    for key, value in (config if isinstance(config, dict) else {}).items():
        if key in _SETTINGS:
            execution[_SETTINGS[key]] = value
        elif key not in _WITHOUT_CONFIG:
            reading.leave_out((*at, "config", key), f"`{key}` of the provider {label!r}", "")
    if stated.get("transform"):
        reading.leave_out(
            (*at, "transform"), "`transform` computes another output", "judge the answer as it is"
        )
    return Provider(label, execution, prompts)


def model_named(stated: Mapping[str, Json], reading: Reading) -> str:
    """The name that a model has in the configuration, which is told how it would be declared."""
    id = str(stated["id"])
    family, _, rest = id.partition(":")
    kind, _, model = rest.partition(":")
    model = model if kind in _KINDS_OF_ASKING and model else rest
    name = as_name(str(stated.get("label") or model or family))
    reading.models[name] = None
    if family in _PLAIN_PROVIDERS and model:
        reading.models[name] = {family: model, "key": f"{family}_key"}
    return name
