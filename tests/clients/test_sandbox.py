"""Generated functions: what they give comes back, and what they try beside that does not come far."""

from pathlib import Path

import pytest

from baselinekit.clients.programs.process import Processes
from baselinekit.errors import CannotReplay, Refused
from baselinekit.model.grades import Call, FunctionOutput
from baselinekit.model.recipes import ProcessResult, ProcessSpec, SandboxResult
from baselinekit.model.values import ABSENT, Json
from baselinekit.sandbox.sandbox import Sandbox, bubblewrap_here, seccomp_filter

WALLED = bubblewrap_here() is not None
walled = pytest.mark.skipif(not WALLED, reason="there is no bubblewrap here")


@pytest.fixture(params=[pytest.param("walls", marks=walled), "plain"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "walls":
        return Sandbox(Processes().execute)
    return Sandbox(Processes().execute, allowed=True, walls=lambda: None)


@pytest.fixture
def walls() -> Sandbox:
    return Sandbox(Processes().execute)


def run(sandbox: Sandbox, code: str, *args: Json, seconds: float = 20) -> SandboxResult:
    calls = [Call(None, [arg]) for arg in args or (1,)]
    return sandbox.run(FunctionOutput("f", calls, timeout_per_case=seconds, max_memory_mb=256), code)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("def f(n): return n + 1", 2),
        ("f = lambda n: [n, None, True, 1.5, 'ü', {'a': []}]", [1, None, True, 1.5, "ü", {"a": []}]),
        ("def f(n): return (n, n)", [1, 1]),
        ("import json\nclass A:\n    def __call__(self, n): return n\nf = A()", 1),
        ("def f(n):\n    print('{\"value\": 5}')\n    return n", 1),
        ("def f(n): return g(n)\ndef g(n): return n * 10", 10),
        ("if __name__ == '__main__': raise SystemExit\ndef f(n): return n", 1),
    ],
)
def test_h23_sandbox_function_gives_its_value(sandbox: Sandbox, code: str, value: Json) -> None:
    (got,) = run(sandbox, code).calls
    assert (got.value, got.error) == (value, "")


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, None, "a", 1.5, [1, {"a": None}], "'); import os; ('"])
def test_h24_sandbox_arguments_keep_their_types(sandbox: Sandbox, given: Json) -> None:
    (got,) = run(sandbox, "def f(n): return n", given).calls
    assert got.value == given
    assert type(got.value) is type(given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(n): raise ValueError('no')", "ValueError: no"),
        ("def f(n): return 1 / 0", "ZeroDivisionError"),
        ("def f(n", "SyntaxError"),
        ("import nothing_such\ndef f(n): return n", "ModuleNotFoundError"),
        ("def g(n): return n", "there is no function 'f'"),
        ("def f(): return 1", "TypeError"),
        ("import os\ndef f(n): os._exit(0)", "ended the process (exit code 0) instead of returning"),
        ("raise SystemExit(0)\ndef f(n): return n", "SystemExit"),
        (
            "from resource import *\ndef f(n):\n    setrlimit(RLIMIT_CPU, (0, 0))\n    while True: pass",
            "was ended by SIG",
        ),
        ("def f(n):\n    while True: pass", "timeout"),
        ("def f(n): return 'x' * 10**10", "MemoryError"),
        ("def f(n): return f(n)", "RecursionError"),
        ("def f(n): return 'x' * 3_000_000", "returned more than a megabyte"),
        ("def f(n): open('big', 'wb').write(b'x' * 20_000_000); return n", "OSError"),
        ("import ctypes\ndef f(n): return ctypes.string_at(0)", "was ended by SIGSEGV"),
    ],
)
def test_f38_sandbox_function_without_return_has_no_value(sandbox: Sandbox, code: str, error: str) -> None:
    (got,) = run(sandbox, code, seconds=0.2 if error == "timeout" else 20).calls
    assert got.value is ABSENT
    assert error in got.error


@pytest.mark.parametrize(
    "code", ["def f(n): return {1, 2}", "def f(n): return float('nan')", "def f(n): return f"]
)
def test_h24_sandbox_value_that_is_not_json_is_inexact(sandbox: Sandbox, code: str) -> None:
    (got,) = run(sandbox, code).calls
    assert got.inexact


@pytest.mark.slow
def test_h23_sandbox_calls_do_not_share_state(sandbox: Sandbox) -> None:
    code = "seen = []\ndef f(n):\n    while n == 2: pass\n    seen.append(n)\n    return len(seen)"
    ran = run(sandbox, code, 1, 2, 3, seconds=0.5)
    assert [(got.value, got.error) for got in ran.calls] == [(1, ""), (ABSENT, "timeout"), (1, "")]


def test_f39_sandbox_flood_of_output_is_cut(sandbox: Sandbox) -> None:
    code = "def f(n):\n    for _ in range(2000): print('x' * 10_000)\n    print('the end')\n    return n"
    (got,) = run(sandbox, code).calls
    assert got.value == 1
    assert got.printed.endswith("the end\n")
    assert len(got.printed) <= 8_000, "twice what is shown: it is cut behind the mask"


def test_sandbox_reports_its_limits_of_this_machine(sandbox: Sandbox) -> None:
    ran = run(sandbox, "def f(n): return n")
    everything = {"time", "memory", "output", "environment", "network", "files", "processes"}
    assert {*ran.contained, *ran.not_contained} == everything
    assert ("files" in ran.contained) == (not ran.not_contained)
    assert ran.not_contained in ((), ("files", "processes"), ("memory", "network", "files", "processes"))


def test_sandbox_required_but_missing_is_an_error() -> None:
    none = Sandbox(Processes().execute, allowed=True, walls=lambda: None)
    with pytest.raises(CannotReplay) as raised:
        none.run(FunctionOutput("f", [Call(1)], sandbox=True), "def f(): return 1")
    assert raised.value.problems[0].code == "BK406"


def test_sandbox_without_walls_needs_permission() -> None:
    none = Sandbox(Processes().execute, walls=lambda: None)
    with pytest.raises(Refused) as raised:
        none.run(FunctionOutput("f", [Call(1)]), "def f(): return 1")
    assert raised.value.problems[0].code == "BK406"


@walled
def test_f39_sandbox_sees_and_leaves_no_files(walls: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("planted")
    code = "import os\ndef f(n): open('/tmp/left', 'w').write('x'); os.mkdir('/planted')\n"
    code += f"def g(n): return os.path.exists({str(tmp_path)!r})"
    run(walls, code)
    (got,) = run(walls, code.replace("def g", "def f")).calls
    assert got.value is False
    assert not Path("/tmp/left").exists()
    assert not Path("/planted").exists()


def test_h24_sandbox_set_becomes_a_list(sandbox: Sandbox) -> None:
    (got,) = run(sandbox, "def f(n): return frozenset([n])").calls
    assert (got.value, got.inexact) == ([1], "frozenset({1})")


def test_sandbox_without_system_call_filter_does_not_contain_memory() -> None:
    def unfiltered(run: ProcessSpec) -> ProcessResult:
        lines = b'{"ready": true, "filtered": false}\n{"value": 1, "printed": "", "seconds": 0.1}\n'
        return ProcessResult(0, lines, b"", 0.1)

    behind = Sandbox(unfiltered, walls=lambda: "/usr/bin/bwrap")
    beside = Sandbox(unfiltered, allowed=True, walls=lambda: None)
    assert run(behind, "").not_contained == ("memory",)
    assert run(beside, "").not_contained == ("memory", "network", "files", "processes")


@pytest.mark.parametrize(
    "output", [b"", b"{}\n", b"[]\n", b'{"value": 5}\n', b'{"ready": 1}\n', b"\xff\n", b"x"]
)
def test_sandbox_that_does_not_start_is_a_flaw(output: bytes) -> None:
    none = Sandbox(
        lambda run: ProcessResult(3, output, b"bwrap: no permission\n", 0.1), walls=lambda: "/usr/bin/bwrap"
    )
    ran = run(none, "")
    assert ran.calls == ()
    assert ran.flaw == "the sandbox did not start (exit code 3); its last output was: bwrap: no permission"


def test_seccomp_filter_by_machine() -> None:
    for machine in ("x86_64", "aarch64"):
        walled, plain = (seccomp_filter(machine, walled) for walled in (True, False))
        assert len(walled) % 8 == len(plain) % 8 == 0
        assert len(walled) < len(plain)
    assert seccomp_filter("sparc64", walled=True) == b""
