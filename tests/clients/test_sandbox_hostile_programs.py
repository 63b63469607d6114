"""More than a hundred programs that do not do what they were asked for: none of them passes, and what each
tries to reach is out of its reach, or the report says that it was not.

All of them are calls of one program, each in a process of its own, with calls between them that have to come
back unharmed. BASELINEKIT_THOROUGH=1 has one after each of them, and runs each alone as well."""

import os
import platform
import socket
import textwrap
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from forged import BENT, ENDLESS, RESULTS, VALUES
from hostile import BEHIND_WALLS, ENVIRONMENT, FILES, MEMORY, NETWORK, OPENING, PARENT, PROCESSES

from baselinekit.clients.programs.process import Processes
from baselinekit.graders.by_function import judge_calls
from baselinekit.model.grades import Call, FunctionOutput
from baselinekit.model.recipes import SandboxResult
from baselinekit.placeholders.table import RegexBudget
from baselinekit.sandbox.sandbox import Sandbox, bubblewrap_here, seccomp_filter
from baselinekit.values.texts import no_mask

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
WALLED = bubblewrap_here() is not None
MODES = [
    pytest.param(True, marks=pytest.mark.skipif(not WALLED, reason="there is no bubblewrap here")),
    False,
]
MARK = f"4{os.getpid():07d}"
"""How long a leftover process would sleep: no other process on this machine sleeps as long."""

WANTED = "wanted-" + os.urandom(16).hex()
PLANTED = "planted-" + os.urandom(16).hex()
REACH = {
    "processes": PROCESSES,
    "memory": MEMORY,
    "files": FILES,
    "network": NETWORK,
    "environment": ENVIRONMENT,
    "output": {**RESULTS, **VALUES, **BENT},
    "time": ENDLESS,
}
FILTERED = bool(seccomp_filter(platform.machine(), walled=False))
HONEST = "unharmed"
BRIEF = 0.1
ENDS = {
    "timeout",
    "started more than 64 processes",
    "PermissionError: [Errno 1] Operation not permitted",
    # a bomb that meets the limit of the system, which binds all but root, by itself or with its children
    "BlockingIOError: [Errno 11] Resource temporarily unavailable",
    "returned nothing that can be read as a value",
}


def program(rows: dict[str, str], given: dict[str, object]) -> str:
    """One program that has all of them and runs the one that is named."""
    codes = {
        name: "def attack():\n" + textwrap.indent(textwrap.dedent(code).strip(), "    ")
        for name, code in {**rows, HONEST: f"return {HONEST!r}"}.items()
    }
    return (
        f"OPENING = {OPENING!r}\nCODES = {codes!r}\nGIVEN = {given!r}\n"
        "def f(name):\n    names = dict(GIVEN, __name__='solution')\n"
        f"    if name != {HONEST!r}: exec(OPENING, names)\n"
        "    exec(CODES[name], names)\n    return names['attack']()\n"
    )


def sandbox(walled: bool) -> Sandbox:
    if walled:
        return Sandbox(Processes().execute)
    return Sandbox(Processes().execute, allowed=True, walls=lambda: None)


def run(walled: bool, rows: dict[str, str], given: dict[str, object], seconds: float) -> SandboxResult:
    """Each row, with honest calls between them, but where every call has little time."""
    every = 1 if THOROUGH else 4
    names: list[str] = []
    for number, name in enumerate(rows, 1):
        names += [name, HONEST] if number % every == 0 and seconds > BRIEF else [name]
    calls = [Call(HONEST if name == HONEST else WANTED, [name]) for name in names]
    method = FunctionOutput("f", calls, timeout_per_case=seconds, max_memory_mb=256)
    ran = sandbox(walled).run(method, program(rows, given))
    assert not ran.flaw
    results, _ = judge_calls(method, ran, RegexBudget(), no_mask)
    for name, result in zip(names, results, strict=True):
        assert result["passed"] == (name == HONEST), (name, result)
    hostile = (call for name, call in zip(names, ran.calls, strict=True) if name != HONEST)
    return SandboxResult(tuple(hostile), ran.contained, ran.not_contained)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """What the programs are after."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text(PLANTED)
    os.environ["PLANTED"] = PLANTED
    unix = f"/tmp/{MARK}.socket"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as near,
        socket.socket(socket.AF_UNIX) as named,
    ):
        for endpoint, name in ((near, unix), (named, f"\0{MARK}")):
            endpoint.bind(name)
            endpoint.listen()
        try:
            yield {
                "MARK": MARK,
                "PLANTED": PLANTED,
                "SECRET": str(folder / "secret"),
                "WANTED_LOOK": "wanted",
                "HOMES": [os.path.expanduser("~"), "/root", "/home"],
                "ROOT": str(Path(__file__).parents[2]),
                "PORT": server.getsockname()[1],
                "UNIX": unix,
            }
        finally:
            del os.environ["PLANTED"]
            os.unlink(unix)


@pytest.mark.slow
@pytest.mark.parametrize("walled", MODES, ids=["walls", "plain"])
@pytest.mark.parametrize("reach", REACH)
def test_f38_f39_sandbox_hostile_programs_never_pass_or_escape(
    walled: bool, reach: str, given: dict[str, object]
) -> None:
    rows = REACH[reach]
    if reach == "processes" and (walled or FILTERED):
        rows = rows | (BEHIND_WALLS if walled else PARENT)
    with socket.socket(type=socket.SOCK_DGRAM) as hearing:
        hearing.bind(("127.0.0.1", 0))
        hearing.setblocking(False)
        ran = run(
            walled, rows, given | {"HEARING": hearing.getsockname()[1]}, BRIEF if reach == "time" else 20
        )
        with pytest.raises(BlockingIOError) if "network" in ran.contained else nullcontext():
            hearing.recv(1)
    out = [name for name, call in zip(rows, ran.calls, strict=True) if call.value == "OUT"]
    assert out == [] or reach in ran.not_contained, out
    assert not walled or ran.not_contained == ()
    assert left() == []
    if reach == "time":
        assert {call.error for call in ran.calls} <= ENDS, ran.calls


def test_hostile_programs_are_more_than_120() -> None:
    names = [name for rows in (*REACH.values(), BEHIND_WALLS) for name in rows]
    assert len(set(names)) == len(names) > 120


def left() -> list[str]:
    """The processes that still sleep."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().split(b"\0")[1:2] == [MARK.encode()]:
                found.append(entry.parent.name)
        except OSError:
            continue
    return found
