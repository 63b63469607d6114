"""Prompt folders: a prompt with its description, its cases and its scripts, and what was noted of its runs
and uses."""

from dataclasses import field
from typing import Literal

from baselinekit.frozen import frozen
from baselinekit.model.values import Json

Status = Literal["draft", "tested", "ready"]
"""How far a prompt has come; `promote` takes it one step further."""


@frozen
class PromptVariable:
    """A variable of the template, as the description declares it."""

    description: str | None = None
    required: bool = True
    default: Json = None


@frozen
class Promotion:
    """What `promote` asks for instead of the usual: the uses, and whether the cases must have passed."""

    min_uses: int | None = None
    require_eval: bool | None = None


@frozen
class PromptMeta:
    """What a prompt says of itself. `triggers` and `not_for`: what a request must look like for the prompt to
    be used, and what not."""

    id: str
    title: str = ""
    summary: str = ""
    status: Status = "draft"
    version: str = ""
    created: str = ""
    updated: str = ""
    description: str | None = None
    triggers: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    inputs: dict[str, PromptVariable] = field(default_factory=dict)
    promotion: Promotion = Promotion()


@frozen
class PromptFolder:
    """A prompt and what lies beside it; files are named from the project's root. `content`: 16 hex digits
    over all that a verdict on its cases hangs on."""

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


@frozen
class EvalRow:
    """One run of a folder's cases, as `.eval.jsonl` notes it. `scope`: all, or the names of the cases that
    were run; `content`: that of the folder when it was run. A row of another tool has neither. `attempts`: at
    each case; `graders`: the kind of graders that alone was asked; `inputs`: those that were typed in place
    of the cases' own; `interrupted`: the run was ended early."""

    ts: str
    all_passed: bool
    total: int
    passed: int
    failed_cases: list[str] = field(default_factory=list)
    scope: str | list[str] | None = None
    content: str | None = None
    attempts: int = 1
    graders: str | None = None
    inputs: list[str] = field(default_factory=list)
    interrupted: bool = False


@frozen
class UsageRow:
    """One time that the prompt was sent, as `.usage.jsonl` notes it. `verified`: what the script that checks
    an answer said; None where there is none. `model`: who answered; `content`: that of the folder then."""

    ts: str
    sent: bool
    verified: bool | None = None
    case: str | None = None
    model: str | None = None
    content: str | None = None
