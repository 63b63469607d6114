"""Observation: what a recipe gave, and what passes through the clients on the way to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from baselinekit.model.questions import ToolCall, Usage
from baselinekit.model.recipes import Auth
from baselinekit.model.values import ABSENT, Json


@dataclass(frozen=True, slots=True)
class Observation:
    """An output and what it took to get it. `tool_calls`: None where nobody said whether there were any;
    `environment`: what only the answer tells of where it comes from (the model that was served); `flaw`: why
    nobody should take it for known-good; `statuses`: what each step of an http recipe answered with, by the
    step's name or number (empty where there are no steps)."""

    output: Json
    seconds: float
    attempts: int = 1
    tool_calls: tuple[ToolCall, ...] | None = None
    usage: Usage = field(default_factory=Usage)
    environment: Mapping[str, Json] = field(default_factory=dict)
    flaw: str | None = None
    statuses: tuple[tuple[str, int], ...] = ()

    def with_output(self, output: Json) -> "Observation":
        return replace(self, output=output)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it goes out: everything expanded, nothing left to decide. `admit` is asked about the
    address that is about to be connected to, and refuses it by raising; None asks about the host as it is
    written."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    digest: Auth | None = None
    timeout: float = 30.0
    verify: bool | str = True
    cert: str | None = None
    http2: bool = False
    max_body: int = 10_000_000
    admit: Callable[[str | None], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Response:
    """One response as it came in: decompressed within its limit, not yet interpreted."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    seconds: float = 0.0

    def header(self, name: str) -> str:
        """The first header of this name, in whatever case it came; empty when there is none."""
        return next((value for known, value in self.headers if known.lower() == name), "")


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One program as it is started."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "."
    timeout: float = 60.0
    max_stdout: int = 1_000_000
    max_stderr: int = 64_000
    mask: Callable[[str], str] | None = field(default=None, compare=False, repr=False)
    """Takes the secrets out of its last words, where an error quotes them."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """One program as it ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float


# A generated program, run where it can do no harm: what it gave, and what it was kept from.


@dataclass(frozen=True, slots=True)
class Returned:
    """One call of its function: the value, or why there is none (`timeout`, an exception, an early exit).
    `inexact`: the value was no JSON (a set, a NaN, a bytes), and this is how it looks. `printed`: the end of
    what it printed meanwhile."""

    value: Json = ABSENT
    error: str = ""
    inexact: str = ""
    printed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ran:
    """All calls in their order. `contained`: from what it was kept, `not_contained`: from what it could not
    be kept on this machine. `flaw`: why nothing of it can be judged."""

    calls: tuple[Returned, ...]
    contained: tuple[str, ...] = ()
    not_contained: tuple[str, ...] = ()
    flaw: str = ""
