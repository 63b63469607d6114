"""Models that are programs and callables: real children, what they are given and what they give back."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from model_server import failure, models, question, world

from baselinekit.clients.models.dispatch import Models
from baselinekit.clients.programs.process import Processes
from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import Message, Model, ModelQuestion, Prices, Tool
from baselinekit.model.traces import ToolCall

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.cancel()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def program(project: Path, source: str) -> list[str]:
    (project / "model.py").write_text(textwrap.dedent(source), "utf-8")
    return [sys.executable, "model.py"]


def of(project: Path, processes: Processes, **entry: Any) -> Models:
    return models(Model(**entry), world(execute=processes.execute, root=str(project)))


def says(project: Path, processes: Processes, value: Any, **entry: Any) -> Models:
    text = value if isinstance(value, str) else json.dumps(value)
    argv = program(project, f"import sys\nsys.stdout.write({text!r})")
    return of(project, processes, command=argv, **entry)


def test_a_program_gets_the_prompt_and_gives_back_a_text(project: Path, processes: Processes) -> None:
    argv = program(project, "import sys\nprint(f'heard: {sys.stdin.read()}')")
    asked = of(project, processes, command=argv)
    answer = asked.ask(question("Grüezi {{x}}"))
    assert answer.text == "heard: Grüezi {{x}}"
    assert answer.usage.cost_usd is None
    assert answer.served is None
    assert asked.spent.calls == 1


def test_a_conversation_is_rendered_as_one_text(project: Path, processes: Processes) -> None:
    asked = of(project, processes, command=["cat"], system="Be brief.")
    conversation = (Message("user", "One?"), Message("assistant", "Two."), Message("user", "Three?"))
    text = asked.ask(ModelQuestion("m", conversation)).text
    assert text == "[system]\nBe brief.\n\n[user]\nOne?\n\n[assistant]\nTwo.\n\n[user]\nThree?"


def test_f40_a_program_sees_only_the_variables_that_the_entry_names(
    project: Path, processes: Processes
) -> None:
    argv = program(project, "import os\nprint(sorted(os.environ))")
    assert "PYTEST_CURRENT_TEST" in os.environ
    bare = of(project, processes, command=argv).ask(question()).text
    named = of(project, processes, command=argv, env=["PYTEST_CURRENT_TEST"]).ask(question()).text
    assert "PYTEST_CURRENT_TEST" not in bare
    assert "PYTEST_CURRENT_TEST" in named
    assert "PATH" in bare


FULL = {
    "text": "fine",
    "tool_calls": [{"name": "f", "input": {"a": 1}, "output": "b"}, {"name": "g"}],
    "usage": {"tokens_in": 5, "tokens_out": 2, "cost_usd": 0.25},
    "model": "own-1",
}


def test_a_program_can_say_more_than_a_text(project: Path, processes: Processes) -> None:
    asked = says(project, processes, FULL, output="json", prices=Prices(1, 1))
    answer = asked.ask(question())
    assert answer.text == "fine"
    assert answer.tool_calls == (ToolCall("f", {"a": 1}, "b"), ToolCall("g", {}))
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (5, 2)
    assert answer.usage.cost_usd == Decimal("0.25"), "what it says goes before the prices"
    assert answer.served == "own-1"
    assert asked.spent.usd == Decimal("0.25")


@pytest.mark.parametrize("value", ["just words\n", {"answer": 42}, [1, 2]])
def test_what_is_no_answer_as_an_object_is_the_text_itself(
    project: Path, processes: Processes, value: Any
) -> None:
    text = says(project, processes, value, output="json").ask(question()).text
    assert text == (value.rstrip("\n") if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize(
    "written",
    [
        'As JSON:\n```\n{"a": 1}\n```',
        '{"type": "start", "session": "s1"}\n{"text": "fine"}\n',
        'INFO: model loaded\n{"text": "fine"}\n',
        '{"text": "fi',
        '{"type": "result", "result": "fine", "session_id": "s1"}',
    ],
)
def test_output_json_with_more_than_one_object_is_an_error_that_shows_its_beginning(
    project: Path, processes: Processes, written: str
) -> None:
    error = failure(says(project, processes, written, output="json"))
    assert error.problems[0].code == "BK612"
    assert f"did not write one JSON object with its text: {written.strip()[:8]!r}"[:-1] in str(error)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({"text": 5}, "got `int` - at `$.text`"),
        ({"text": "a", "tool_calls": {}}, "at `$.tool_calls`"),
        ({"tool_calls": [{"input": 1}]}, "field `name` - at `$.tool_calls[0]`"),
        ({"text": "a", "usage": 3}, "at `$.usage`"),
        ({"text": "a", "cost": 3}, "unknown field `cost`"),
    ],
)
def test_an_answer_as_an_object_is_read_strictly(
    project: Path, processes: Processes, value: Any, word: str
) -> None:
    error = failure(says(project, processes, value, output="json"))
    assert error.problems[0].code == "BK612"
    assert word in str(error)


CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "It works.",
    "total_cost_usd": 0.0123,
    "usage": {"input_tokens": 4, "cache_creation_input_tokens": 100, "output_tokens": 9},
    "modelUsage": {"claude-x": {}},
}


def test_what_claude_writes_is_read(project: Path, processes: Processes) -> None:
    answer = says(project, processes, CLAUDE, output="claude").ask(question())
    assert answer.text == "It works."
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (104, 9)
    assert answer.usage.cost_usd == Decimal("0.0123")
    assert answer.served == "claude-x"


@pytest.mark.parametrize(
    ("value", "code", "word"),
    [
        ({**CLAUDE, "is_error": True, "result": "Credit balance is too low"}, "BK615", "Credit balance"),
        ({**CLAUDE, "result": None, "subtype": "error_max_turns"}, "BK612", "error_max_turns"),
        ("no json", "BK612", "--output-format json"),
    ],
)
def test_what_claude_says_went_wrong_is_an_error(
    project: Path, processes: Processes, value: Any, code: str, word: str
) -> None:
    error = failure(says(project, processes, value, output="claude"))
    assert error.problems[0].code == code
    assert word in str(error)


def test_claude_that_fails_with_an_exit_code_still_says_why(project: Path, processes: Processes) -> None:
    said = json.dumps({"is_error": True, "result": "not logged in"})
    argv = program(project, f"import sys\nprint({said!r})\nsys.exit(1)")
    assert "not logged in" in str(failure(of(project, processes, command=argv, output="claude")))


def test_a_program_that_fails_is_no_answer(project: Path, processes: Processes) -> None:
    argv = program(project, "import sys\nprint('half')\nsys.exit('no licence')")
    error = failure(of(project, processes, command=argv))
    assert error.problems[0].code == "BK615"
    assert "exit code 1; its last output was: no licence" in str(error)


def test_f28_a_program_that_does_not_end_is_ended(project: Path, processes: Processes) -> None:
    started = time.monotonic()
    error = failure(of(project, processes, command=["sleep", "60"], timeout=0.3))
    assert error.problems[0].code == "BK321"
    assert time.monotonic() - started < 5


def test_f29_a_program_that_floods_is_stopped(project: Path, processes: Processes) -> None:
    assert failure(of(project, processes, command=["yes"])).problems[0].code == "BK322"


def test_what_is_no_text_is_no_answer(project: Path, processes: Processes) -> None:
    argv = program(project, "import sys\nsys.stdout.buffer.write(bytes([255, 254]))")
    assert "UTF-8" in str(failure(of(project, processes, command=argv)))


def test_a_program_cannot_be_handed_tools(project: Path, processes: Processes) -> None:
    error = failure(of(project, processes, command=["cat"]), question(tools=(Tool("f"),)))
    assert error.problems[0].code == "BK616"


def test_an_interrupted_program_is_ended_at_once(project: Path, processes: Processes) -> None:
    asked = of(project, processes, command=["sleep", "60"])
    codes = []
    thread = threading.Thread(target=lambda: codes.append(failure(asked).problems[0].code))
    thread.start()
    time.sleep(0.2)
    started = time.monotonic()
    processes.cancel()
    thread.join(20)
    assert codes == ["BK330"]
    assert time.monotonic() - started < 10
    assert (asked.spent.calls, asked.spent.unanswered) == (1, 1)
    assert failure(asked).problems[0].code == "BK330"
    assert asked.spent.calls == 1, "the second was never started"


def callable_of(project: Path, processes: Processes, source: str, **entry: Any) -> Models:
    (project / "my").mkdir(exist_ok=True)
    (project / "my" / "model.py").write_text(textwrap.dedent(source), "utf-8")
    return of(project, processes, python="my.model:answer", **entry)


def test_a_callable_gets_the_prompt_and_the_settings(project: Path, processes: Processes) -> None:
    source = """
        import http.client  # which a module beside the child's program must not hide

        def answer(prompt, *, tone):
            print("noise")
            return f"{prompt} ({tone})"
    """
    asked = callable_of(project, processes, source, settings={"tone": "kind"})
    assert asked.ask(question("Hello")).text == "Hello (kind)"


def test_a_callable_can_say_more_than_a_text(project: Path, processes: Processes) -> None:
    answer = callable_of(project, processes, f"def answer(prompt):\n    return {FULL!r}").ask(question())
    assert (answer.text, answer.served, answer.usage.cost_usd) == ("fine", "own-1", Decimal("0.25"))


@pytest.mark.parametrize(
    ("source", "code", "word"),
    [
        ("def answer(prompt):\n    raise ValueError('too hard')", "BK615", "too hard at my/model.py:2"),
        ("def answer(prompt):\n    return 5", "BK612", "no text"),
        ("def answer(prompt):\n    return {'text': None, 'x': 1}", "BK612", "unknown field `x`"),
        ("import os\ndef answer(prompt):\n    os._exit(3)", "BK615", "exit code 3"),
        ("import os\ndef answer(prompt):\n    os._exit(0)", "BK612", "no text"),
        ("x = 1", "BK615", "has no attribute 'answer'"),
        ("x = 1\ndef answer(prompt:", "BK615", "at my/model.py:2"),
    ],
)
def test_what_a_callable_does_wrong_is_an_error(
    project: Path, processes: Processes, source: str, code: str, word: str
) -> None:
    error = failure(callable_of(project, processes, source))
    assert error.problems[0].code == code
    assert word in str(error)


LLM = """
import sys
from pathlib import Path
if "boom" in sys.argv[-1]:
    sys.exit("Error: Unknown model")
print(repr(sys.argv[1:]), repr(sys.stdin.read()))
print("Token usage: 1,204 input, 5 output, {}", file=sys.stderr)
"""


@pytest.mark.slow
def test_the_llm_package_is_asked_through_its_command_line(project: Path) -> None:
    """In a process of its own, which finds a package that is not installed here."""
    (project / "llm.py").write_text(LLM, "utf-8")
    code = f"""
        import sys
        sys.path[:0] = [{str(project)!r}, {str(ROOT)!r}, {str(Path(__file__).parent)!r}]
        from model_server import failure, models, question, world
        from baselinekit.model.recipes import ModelQuestion, Message, Model
        from baselinekit.clients.programs.process import Processes
        entry = Model(llm="mini", system="-s", settings={{"top_p": 0.5}}, temperature=0, env=["PYTHONPATH"])
        asked = models(entry, world(execute=Processes().execute, root="/"))
        answer = asked.ask(question("Hi"))
        print(answer.text)
        print(answer.usage.tokens_in, answer.usage.tokens_out, "llm" in sys.modules)
        entry = Model(llm="mini", settings={{"x": "boom"}}, env=["PYTHONPATH"])
        print(failure(models(entry, world(execute=Processes().execute, root="/"))))
    """
    environment = {**os.environ, "PYTHONPATH": str(project)}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ran.returncode == 0, ran.stderr
    first, second, third = ran.stdout.splitlines()
    assert first == (
        "['prompt', '--no-stream', '--no-log', '--usage', '--model=mini', '--system=-s', '--option', "
        "'temperature', '0', '--option', 'top_p', '0.5'] 'Hi'"
    )
    assert second == "1204 5 False"
    assert "its last output was: Error: Unknown model" in third


def test_a_package_that_is_not_there_can_be_installed() -> None:
    code = """
        import sys
        sys.modules["llm"] = None
        from model_server import models, world
        from baselinekit.model.recipes import Model
        models(Model(llm="mini"), world()).check("m")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "BK604" in ran.stderr
    assert "pip install 'baselinekit[llm]'" in ran.stderr


def test_another_package_can_bring_a_form_along(tmp_path: Path) -> None:
    information = tmp_path / "plugin-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[baselinekit.models]\necho = plugin:FORM\nbroken = plugin:NONE\nother = plugin:LIMIT\n"
    )
    (tmp_path / "plugin.py").write_text(
        textwrap.dedent("""
        from baselinekit.model.recipes import Answer
        from baselinekit.clients.models.post import Form, Question, Reply
        def ask(question: Question) -> Reply:
            return Reply(Answer(question.ask.messages[-1].content[::-1]))
        FORM, LIMIT = Form(ask), 5
        """)
    )
    code = """
        from baselinekit.errors import InvalidInput
        from baselinekit.model.recipes import Model
        from model_server import models, question, world
        print(models(Model(form="echo"), world()).ask(question("abc")).text)
        for name in ("ecko", "broken", "other"):
            try:
                models(Model(form=name), world()).check("m")
            except InvalidInput as error:
                print(error)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}:{Path(__file__).parent}"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ran.returncode == 0, ran.stderr
    first, second, third, fourth = ran.stdout.splitlines()
    assert first == "cba"
    assert "did you mean 'echo'?" in second
    assert "cannot be loaded: AttributeError" in third
    assert "does not name a Form" in fourth


def test_a_program_that_is_not_there_is_said_before_anybody_asks(project: Path, processes: Processes) -> None:
    asked = of(project, processes, command=["no-such-program-anywhere"])
    for attempt in (lambda: asked.check("m"), lambda: asked.ask(question())):
        with pytest.raises(Exception, match="BK320"):
            attempt()
    with pytest.raises(InvalidInput, match="BK602"):
        of(project, processes, command=[]).check("m")
