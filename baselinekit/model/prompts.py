"""Prompt folders: a prompt with its description, its cases and its scripts, and the notes about its runs and
uses."""

from typing import Literal

from baselinekit.model.values import Json
from baselinekit.structs import Count, Struct, field

Status = Literal["draft", "tested", "ready"]
"""How mature a prompt is; `promote` takes it one step further."""


class PromptVariable(Struct):
    """A variable of the template, as the description declares it. It states its name if it is in a list."""

    name: str | None = None
    description: str | None = None
    required: bool = True
    default: Json = None
    type: str | None = None


class Promotion(Struct):
    """What `promote` requires instead of the default: the number of uses, and whether the cases must have
    passed."""

    min_uses: Count | None = None
    require_eval: bool | None = None


class PromptMeta(Struct):
    """The description of a prompt. `triggers` and `not_for`: which requests the prompt is for, and which
    not."""

    id: str = ""
    title: str = ""
    summary: str = ""
    status: Status = "draft"
    version: str | int | float = ""
    created: str = ""
    updated: str = ""
    description: str | None = None
    triggers: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    inputs: dict[str, PromptVariable] = field(default_factory=dict)
    promotion: Promotion = Promotion()


class PromptFolder(Struct):
    """A prompt and the files beside it, as paths from the project's root. `content`: 16 hex digits of a hash
    over everything that a verdict on its cases depends on."""

    path: str
    meta: PromptMeta
    meta_file: str
    template: str
    eval_file: str | None = None
    guard: str | None = None
    verify: str | None = None
    content: str = ""

    @property
    def id(self) -> str:
        return self.meta.id


class EvalRow(Struct):
    """One run of a folder's cases, as noted in `.eval.jsonl`. `scope`: all, or the names of the cases that
    were run; `content`: the folder's at the time. A row of another tool has neither. `attempts`: for
    each case; `graders`: the only kind of graders that was used; `inputs`: those that were given in place of
    the cases' own; `interrupted`: the run was ended early."""

    ts: str
    all_passed: bool
    total: Count = 0
    passed: Count = 0
    failed_cases: list[str] = field(default_factory=list)
    scope: str | list[str] | None = None
    content: str | None = None
    attempts: Count = 1
    graders: str | None = None
    inputs: list[str] = field(default_factory=list)
    interrupted: bool = False


class UsageRow(Struct):
    """One use of the prompt, as noted in `.usage.jsonl`. `verified`: the result of the script that checks an
    answer; None if there is none. `model`: the model that answered; `content`: that of the folder at the
    time."""

    ts: str
    sent: bool
    verified: bool | None = None
    case: str | None = None
    model: str | None = None
    content: str | None = None
