"""Targets by their names: of the configuration, of a targets file, and of one that was only found."""

from pathlib import Path
from typing import Any

import pytest
from promptfiles import FOLDER, prompt_folder

from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import BaselinekitError, InvalidInput, Refused
from baselinekit.kinds.given import RESPONSE, MockExecution
from baselinekit.kinds.programs import CliExecution, Healthcheck
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.model.recipes import Execution, Model, Retry
from baselinekit.structs import replace
from baselinekit.suites.loading import load_evals
from baselinekit.suites.targets import Targets
from baselinekit.suites.targetsfile import TargetsFile, read_list

TARGETS = ".agentv/targets.yaml"


def project(root: Path, files: dict[str, str], **said: Any) -> Project:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    (root / ".git").mkdir(exist_ok=True)
    return open_project(Operator(str(root), **said))


def evals(target: str = "", case: str = "") -> str:
    own = f", execution: {{target: {case}}}" if case else ""
    file = f"execution: {{target: {target}}}\n" if target else ""
    return f"{file}evalcases:\n- {{id: one, expected_outcome: Right., input: Hi{own}}}\n"


def asked(there: Project) -> tuple[Execution, Any]:
    """Whom the only case asks, and the model that judges it."""
    (case,) = load_evals(["evals"], there.root, targets=there.targets).cases
    (grader,) = case.graders
    return case.recipe.execution, grader.method.model


def problem(there: Project) -> str:
    with pytest.raises(BaselinekitError) as raised:
        load_evals(["evals"], there.root, targets=there.targets)
    return str(raised.value)


def mock(name: str, answer: str = "42") -> str:
    return f"- {{name: {name}, provider: mock, response: '{answer}'}}\n"


LIST = "targets:\n" + "".join(mock(name, name) for name in ("default", "file", "case", "typed"))


@pytest.mark.parametrize(
    ("target", "case", "typed", "whom"),
    [
        ("", "", None, "default"),
        ("file", "", None, "file"),
        ("file", "case", None, "case"),
        ("", "case", None, "case"),
        ("file", "case", "typed", "typed"),
        ("file", "", "default", "file"),
        ("file", "case", "default", "case"),
        ("", "", "default", "default"),
    ],
)
def test_a8_whom_a_case_asks(tmp_path: Path, target: str, case: str, typed: str | None, whom: str) -> None:
    there = project(tmp_path, {TARGETS: LIST, "evals/a.yaml": evals(target, case)}, target=typed)
    assert asked(there)[0] == MockExecution("mock", whom, target=whom)


MODELS = "models: {small: {openai: s, base_url: 'http://127.0.0.1:1'}, big: {openai: b, base_url: 'http://127.0.0.1:1'}}\n"
MODELS += (
    "targets: {fixed: {type: mock, response: '7'}, terse: {type: prompt, model: small, system: Be brief.}}\n"
)
CASE = "id: a\ninput: {type: prompt, content: Hi}\nexpected: {value: x}\n"
CASES = "[{id: a, input: {type: prompt, content: Hi}, expected: {value: x}}]"
INSIDE = f"metadata: {{id: f}}\nconfig: {{execution: %s}}\ntest_cases: {CASES}"
SUITE = f"eval_suite: {{name: s, config: {{execution: %s}}, evals: {CASES}}}"
RECORD = (
    "id: a\ncurrent: {input: {text: Hi}, execution: %s}\nbaseline: {output: x}\ncomparison: {type: exact}\n"
)
OWN = "{type: prompt, model: big, parse: json}"
FORMS = {
    "case": CASE + f"execution: {OWN}\n",
    "file": INSIDE % OWN,
    "suite": SUITE % OWN,
    "record": RECORD % OWN,
    "case by name": CASE + "execution: {target: big}\n",
    "file by name": INSIDE % "{target: big}",
    "suite by name": SUITE % "{target: big}",
    "agentv": evals("", "big"),
    "agentv's file": evals("big"),
}


@pytest.mark.parametrize("form", FORMS)
def test_target_typed_overrides_the_execution_of_every_form(tmp_path: Path, form: str) -> None:
    files = {"baselinekit.yaml": MODELS, "evals/a.yaml": FORMS[form]}

    def execution(typed: str | None) -> Any:
        there = project(tmp_path, files, target=typed)
        (case,) = load_evals(["evals"], there.root, targets=there.targets).cases
        return case.recipe.execution

    own = execution(None)
    assert own.model == "big"
    assert execution("small") == replace(own, model="small")
    assert execution("terse") == replace(own, model="small", system="Be brief.")
    if form == "record":
        with pytest.raises(InvalidInput, match=r"BK715 evals/a\.yaml:2:.*`type: prompt` .* `type: mock`"):
            execution("fixed")
    else:
        assert execution("fixed") == MockExecution("mock", "7", target="fixed")


def test_target_typed_overrides_the_model_of_a_prompt_folder(tmp_path: Path) -> None:
    prompt_folder(
        tmp_path,
        "defaults: {model: big}\ncases:\n- {name: a, model: big, inputs: {}, assert: [contains: x]}\n",
    )

    def model(typed: str | None) -> Any:
        there = project(tmp_path, {"baselinekit.yaml": MODELS}, target=typed)
        (case,) = load_evals([FOLDER], there.root, targets=there.targets).cases
        return case.recipe.execution.model

    assert (model(None), model("small"), model("default")) == ("big", "small", "big")
    with pytest.raises(InvalidInput, match=r"BK715 .*a prompt folder is for a model, not for mock"):
        model("fixed")


@pytest.mark.parametrize(
    ("content", "own", "typed", "type"),
    [
        ("{type: api_call, content: {path: /}}", "{type: http, timeout: 3}", "small", "http"),
        ("{type: api_call, content: {path: /}}", "", "fixed", "http"),
        ("{type: skill, content: 1}", "{type: skill, skill_name: own}", "other", "skill"),
        ("{type: skill, content: 1}", "{type: skill, skill_name: own}", "small", None),
    ],
)
def test_target_typed_for_requests_and_skills(
    tmp_path: Path, content: str, own: str, typed: str, type: str | None
) -> None:
    text = f"id: a\ninput: {content}\nexpected: {{value: x}}\n" + (f"execution: {own}\n" if own else "")
    config = f"{MODELS[:-2]}, other: {{type: skill, skill_name: other}}}}\n"
    there = project(tmp_path, {"baselinekit.yaml": config, "evals/a.yaml": text}, target=typed)
    if type is None:
        assert "sent to an execution of `type: prompt`: `--target` needs `type: skill`" in problem(there)
        return
    (case,) = load_evals(["evals"], there.root, targets=there.targets).cases
    assert case.recipe.execution.type == type
    assert getattr(case.recipe.execution, "timeout", None) == (3 if "timeout" in own else None)
    assert getattr(case.recipe.execution, "skill_name", "other") == "other"


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("{target: smal}", "evals/a.yaml:4:21: there is no target 'smal': did you mean 'small'?"),
        ("{target: small, parse: json}", "evals/a.yaml:4:28: unknown key 'parse'"),
        ("{target: 7}", "evals/a.yaml:4:21:"),
        ("{target: wrong}", "evals/a.yaml:4:21: baselinekit.yaml:3:17: unknown type 'mok'"),
    ],
)
def test_target_named_by_a_case_of_ours_that_is_wrong(tmp_path: Path, stated: str, words: str) -> None:
    config = MODELS.replace("targets: {", "targets: {\n  wrong: {type: mok}, ")
    text = f"{CASE}execution: {stated}\n"
    assert words in problem(project(tmp_path, {"baselinekit.yaml": config, "evals/a.yaml": text}))


LOSSES = [
    ("{role: tool, content: '42'}", "the role `tool` of message 2"),
    ("{role: assistant, tool_calls: [{tool: add}]}", "the tool calls of message 2"),
    ("{role: user, content: [{type: file, value: x.png}]}", "x.png in message 2, which is not UTF-8 text,"),
    ("{role: user, content: [{type: image_url, image_url: {url: x}}]}", "the part `image_url` of message 2"),
    ("{role: user, content: [{type: text, text: Hi}, {type: input_audio, data: x}]}", "part `input_audio`"),
    ("{role: user, content: [{type: image, value: x.png}]}", "expected one of text, file, found 'image'"),
    ("{role: user, content: [{type: file, value: x.md}]}", None),
    ("{role: user, content: [{type: add, a: 1}]}", None),
]


@pytest.mark.parametrize("form", ["ours", "agentv"])
@pytest.mark.parametrize(("message", "loss"), LOSSES)
def test_messages_to_a_model_with_what_cannot_be_sent_are_refused_at_load(
    tmp_path: Path, form: str, message: str, loss: str | None
) -> None:
    messages = f"[{{role: user, content: Hi}}, {message}]"
    ours = f"id: a\ninput: {{type: messages, content: {messages}}}\nexpected: {{value: x}}\n"
    text = ours if form == "ours" else f"evalcases:\n- {{id: a, expected_outcome: R, input: {messages}}}\n"
    files = {"baselinekit.yaml": MODELS, "evals/a.yaml": text, "evals/x.md": "text"}
    there = project(tmp_path, files, target="small")
    (tmp_path / "evals/x.png").write_bytes(b"\x89PNG\xff")
    if loss is None:
        load_evals(["evals"], there.root, targets=there.targets)
    else:
        assert loss in problem(there)


def test_tool_calls_of_earlier_turns_to_a_program_are_refused_at_load(tmp_path: Path) -> None:
    config = "targets: {agent: {type: cli, command: 'agent {PROMPT}'}, fixed: {type: mock}}\n"
    messages = "[{role: assistant, tool_calls: [{tool: add}]}, {role: user, content: Hi}]"
    text = f"evalcases:\n- {{id: a, expected_outcome: R, input: {messages}}}\n"
    files = {"baselinekit.yaml": config, "evals/a.yaml": text}
    assert "the tool calls of message 1 cannot be sent" in problem(project(tmp_path, files, target="agent"))
    there = project(tmp_path, files, target="fixed")
    load_evals(["evals"], there.root, targets=there.targets)


def test_a8_the_nearest_targets_file_is_found(tmp_path: Path) -> None:
    files = {
        TARGETS: "targets:\n" + mock("default", "root"),
        f"evals/{TARGETS}": "targets:\n" + mock("default", "near"),
        "evals/deep/a.yaml": evals(),
    }
    assert asked(project(tmp_path, files))[0].response == "near"
    (tmp_path / "evals" / TARGETS).unlink()
    assert asked(project(tmp_path, files | {f"evals/{TARGETS}": "targets: []"}))[0] == PromptExecution(
        "prompt", model="default"
    )


def test_a8_who_names_a_file_means_that_one(tmp_path: Path) -> None:
    files = {TARGETS: LIST, "evals/a.yaml": evals(), "mine.yaml": "targets:\n" + mock("default", "mine")}
    assert asked(project(tmp_path, files))[0].response == "default"
    assert asked(project(tmp_path, files, targets="mine.yaml"))[0].response == "mine"
    configured = files | {"baselinekit.yaml": "targets: mine.yaml\n"}
    assert asked(project(tmp_path, configured))[0].response == "mine"
    assert asked(project(tmp_path, configured, targets=TARGETS))[0].response == "default"


def test_targets_of_the_configuration_and_models_by_their_names(tmp_path: Path) -> None:
    config = (
        "models: {small: {openai: tiny, base_url: 'http://127.0.0.1:1'}}\n"
        "targets:\n  fixed: {type: mock, response: '7', judge: small, workers: 2}\n"
        "  agent: {type: cli, command: 'agent {PROMPT}', env: [HOME]}\n"
    )
    files = {"baselinekit.yaml": config, "evals/a.yaml": evals("fixed")}
    there = project(tmp_path, files)
    assert asked(there) == (MockExecution("mock", "7", target="fixed"), "small")
    assert load_evals(["evals"], there.root, targets=there.targets).config.max_workers == 2
    assert there.executions["agent"] == CliExecution("cli", "agent {PROMPT}", env=["HOME"], target="agent")
    assert asked(project(tmp_path, files, target="small"))[0] == PromptExecution("prompt", model="small")
    words = problem(project(tmp_path, files, target="smal"))
    assert "BK798" in words
    assert "did you mean 'small'?" in words


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("{type: mok}", "baselinekit.yaml:3:13: unknown type 'mok' (string): did you mean 'mock'?"),
        ("{type: mock, respons: x}", "baselinekit.yaml:3:19: unknown key 'respons'"),
        ("{type: mock, workers: 0}", "expected an integer from 1 to 512, found 0 (integer)"),
        ("{type: cli, command: 'run {PROMT}'}", "unknown placeholder {PROMT}"),
        ("{type: mock, response: '${{ X }}'}", "${{ NAME }} is for targets files"),
        ("7", "expected a mapping, found 7 (integer)"),
    ],
)
def test_what_is_wrong_with_a_target_of_the_configuration(tmp_path: Path, stated: str, words: str) -> None:
    config = f"version: 1\ntargets:\n  x: {stated}\n"
    there = project(tmp_path, {"baselinekit.yaml": config, "evals/a.yaml": evals("x")})
    assert words in problem(there)


def test_an_unknown_target_is_told_where_it_is_named(tmp_path: Path) -> None:
    there = project(tmp_path, {TARGETS: LIST, "evals/a.yaml": evals("", "cas")})
    assert problem(there) == ("BK798 evals/a.yaml:2:70: there is no target 'cas': did you mean 'case'?")


# What a targets file says.


def one(text: str, tmp_path: Path, named: bool = True, **variables: str) -> Any:
    """The first target of a file, or what is wrong with it."""
    (tmp_path / "t.yaml").write_text(text, "utf-8")
    listed, problems = read_list(str(tmp_path), TargetsFile("t.yaml", variables.get, "export %s", named))
    assert not problems
    return listed.target(next(iter(listed.stated)))


@pytest.mark.parametrize(
    ("text", "execution"),
    [
        ("{provider: mock}", MockExecution("mock", RESPONSE, target="x")),
        ("{provider: Mock, delay_ms: 500}", MockExecution("mock", RESPONSE, 0.5, target="x")),
        (
            "{provider: mock, delayMinMs: 100, delayMaxMs: 300}",
            MockExecution("mock", RESPONSE, 0.1, 0.3, target="x"),
        ),
        ("{provider: mock, response: '{{a}} ${{ B }}'}", MockExecution("mock", "\\{{a}} {{B}}", target="x")),
        (
            "{provider: cli, command_template: 'run {PROMPT}'}",
            CliExecution("cli", "run {PROMPT}", target="x"),
        ),
        (
            "{provider: cli, commandTemplate: '${{ B }} {FILES}', filesFormat: '-f {path}', cwd: ../d, "
            "timeoutSeconds: 9, providerBatching: true, max_retries: 2, verbose: true}",
            CliExecution(
                "cli", "{{B}} {FILES}", "-f {path}", "../d", timeout=9, batch=True, retries=2, target="x"
            ),
        ),
        (
            "{provider: cli, command: run, "
            "healthcheck: {type: http, url: 'http://h/${{ B }}', timeout_seconds: 3}}",
            CliExecution("cli", "run", healthcheck=Healthcheck("http://h/{{B}}", timeout=3), target="x"),
        ),
        (
            "{provider: cli, command: run, healthcheck: {type: command, command_template: look, cwd: e}}",
            CliExecution("cli", "run", healthcheck=Healthcheck(command="look", cwd="e"), target="x"),
        ),
    ],
)
def test_a51_the_targets_of_a_file(tmp_path: Path, text: str, execution: Execution) -> None:
    target, problems = one(f"targets:\n- {text.replace('{', '{name: x, ', 1)}\n", tmp_path, B="b")
    assert problems == []
    assert target.execution == execution


AZURE = "https://east.openai.azure.com/openai/deployments/gpt/chat/completions?api-version="


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("provider: openai, model: gpt, api_key: '${{ K }}'", Model(openai="gpt", key="K")),
        (
            "provider: anthropic, model: '${{ B }}', api_key: '${{K}}', maxTokens: 9",
            Model(anthropic="b", key="K", max_tokens=9),
        ),
        (
            "provider: azure, resource: east, deployment: gpt, api_key: '${{ K }}', temperature: 0",
            Model(
                openai="gpt",
                base_url=f"{AZURE}2024-12-01-preview",
                headers={"api-key": "{{K}}"},
                temperature=0,
            ),
        ),
        (
            "provider: azure, endpoint: 'https://east.openai.azure.com/', model: gpt, version: v9",
            Model(openai="gpt", base_url=f"{AZURE}v9"),
        ),
        (
            "provider: openrouter, model: m, api_key: '${{ K }}', max_retries: 1",
            Model(openai="m", base_url="https://openrouter.ai/api", key="K", retries=1),
        ),
        (
            "provider: openai, model: m, workers: 3, retryInitialDelayMs: 500, retry_max_delay_ms: 9000, "
            "retry_backoff_factor: 3, retry_status_codes: [429, 529]",
            Model(openai="m", concurrency=3, retry=Retry(0.5, 9, 3, [429, 529])),
        ),
        ("provider: openai, model: m, retry_max_delay_ms: 9000", Model(openai="m", retry=Retry(1, 9, 2))),
    ],
)
def test_a8_models_of_a_file(tmp_path: Path, text: str, model: Model) -> None:
    target, problems = one(f"targets:\n- {{name: x, {text}}}\n", tmp_path, K="k", B="b")
    assert problems == []
    assert (target.execution, target.model) == (PromptExecution("prompt", model="x"), model)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("provider: mock, response: '${{ NO }}'", "BK799 t.yaml:2:39: the variable NO is not set: export NO"),
        (
            "provider: openai, model: m, apiKey: 12345",
            "expected a variable such as ${{ NAME }}, found an integer",
        ),
        ("provider: openai", "a target of a model without a `model`"),
        ("provider: cli", "a target of the provider cli has no `command_template`"),
        ("provider: cli, command: 'run {PROMT}'", "BK791 t.yaml:2:37: unknown placeholder {PROMT}"),
        ("provider: cli, command: 1.5", "BK105 t.yaml:2:37: expected a string, found 1.5 (number)"),
        (
            "provider: cli, command: run, healthcheck: {type: tcp}",
            "expected one of http, command, found 'tcp'",
        ),
        ("provider: cli, command: run, healthcheck: {}", "a healthcheck has a `url` or a `command`"),
        ("provider: cli, command: run, healthcheck: {urll: x}", "BK103 t.yaml:2:56: unknown key 'urll'"),
        ("provider: cli, command: run, comand: x", "unknown key 'comand': did you mean 'command'"),
        ("provider: codex", "the provider 'codex' starts an agent, which is described by its command line"),
        ("response: x", "it has no `provider`"),
        ("provider: mock, delay_min_ms: 9, delayMs: 3", "BK798 t.yaml:2:55: `delay_ms` beside a range of"),
        ("provider: mock, workers: 99999999999999999999999", "expected an integer from 1 to 512, found 9999"),
        ("provider: openai, model: m, retry_status_codes: [429, 401]", "`retry_status_codes` cannot be used"),
        (
            "provider: openai, model: m, retry_backoff_factor: 0.5",
            "expected a factor of 1 or more, found 0.5",
        ),
    ],
)
def test_mistake_in_a_targets_file_has_its_place(tmp_path: Path, text: str, words: str) -> None:
    target, problems = one(f"targets:\n- {{name: x, {text}}}\n", tmp_path)
    assert target is None
    assert words in "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1", "BK798 t.yaml:1:1: no list of targets"),
        ("targets: {a: 1}", "no list of targets"),
        ("targets:\n- provider: mock\n", "BK798 t.yaml:2:3: a target without a name"),
        ("targets:\n- {name: a}\n- {name: a}\n", "BK798 t.yaml:3:10: the target 'a' occurs twice"),
        ("targets: [", "t.yaml:1"),
        (None, "t.yaml"),
    ],
)
def test_a_list_that_cannot_be_read_is_told_at_once(tmp_path: Path, text: str | None, words: str) -> None:
    files = {} if text is None else {"t.yaml": text}
    with pytest.raises(InvalidInput) as raised:
        project(tmp_path, files, targets="t.yaml")
    assert words in str(raised.value)


# Whose variables, whose models.


KEYED = (
    "targets:\n- {name: default, provider: mock, judge_target: judge_llm, response: '${{ ANSWER }}'}\n"
    "- {name: judge_llm, provider: openai, model: m, api_key: '${{ MY_API_KEY }}'}\n"
    "- {name: broken, provider: mock, response: '${{ NOWHERE }}'}\n"
)
ENVIRON = {"ANSWER": "42", "MY_API_KEY": "sk-0123456789abcdef"}


def test_a8_a_file_that_is_named_takes_variables_from_the_environment(tmp_path: Path) -> None:
    files = {"t.yaml": KEYED, "evals/a.yaml": evals()}
    there = project(tmp_path, files, targets="t.yaml", environ=ENVIRON)
    assert asked(there) == (MockExecution("mock", "{{ANSWER}}", target="default"), "judge_llm")
    assert there.scope.values["ANSWER"] == "42"
    assert there.scope.secrets["MY_API_KEY"].value == ENVIRON["MY_API_KEY"]
    assert there.models["judge_llm"] == Model(openai="m", key="MY_API_KEY")
    assert there.redactor.mask("it is sk-0123456789abcdef") == "it is ***"
    assert "NOWHERE" not in there.scope.values
    broken = project(tmp_path, files, targets="t.yaml", environ=ENVIRON, target="broken")
    assert "BK799 t.yaml:4:44: the variable NOWHERE is not set: export NOWHERE=…" in problem(broken)


def test_a8_a_file_that_was_only_found_takes_what_the_configuration_declares(tmp_path: Path) -> None:
    files = {TARGETS: KEYED, "evals/a.yaml": evals()}
    there = project(tmp_path, files, environ=ENVIRON)
    words = problem(there)
    assert "BK799 .agentv/targets.yaml:2:70: the variable ANSWER is not set: declare it under" in words
    assert "ANSWER" not in there.scope.values
    assert not there.models
    assert not there.executions
    declared = files | {"baselinekit.yaml": "variables: {ANSWER: {from_env: ANSWER}}\n"}
    there = project(tmp_path, declared, environ=ENVIRON)
    assert asked(there)[0].response == "{{ANSWER}}"
    judge = project(tmp_path, declared, environ=ENVIRON, target="judge_llm")
    assert "the configuration describes no model of this name" in problem(judge)
    described = {"baselinekit.yaml": "models: {judge_llm: {command: [judge]}}\n"}
    there = project(tmp_path, declared | described, environ=ENVIRON, target="judge_llm")
    assert asked(there)[0] == PromptExecution("prompt", model="judge_llm")


def test_what_the_configuration_of_another_commit_names_is_only_found(tmp_path: Path) -> None:
    """The file stands in the checkout, and whoever sent it may have changed it since."""
    from baselinekit.model.recipes import Config
    from baselinekit.secrets.variables import Scope
    from baselinekit.suites.targets import Targets
    from baselinekit.suites.targetsfile import add_named_targets

    (tmp_path / "t.yaml").write_text(KEYED, "utf-8")
    config = Config(targets="t.yaml")
    for is_current in (True, False):
        found, scope = add_named_targets(
            Targets(), config, None, str(tmp_path), Scope(), ENVIRON, None, is_current
        )
        assert [one.name for one in found.readable()] == (["default", "judge_llm"] if is_current else [])
        assert ("ANSWER" in scope.values) is is_current


def test_a_found_list_that_is_broken_stops_only_who_asks_for_a_target(tmp_path: Path) -> None:
    files = {TARGETS: "targets: 7\n", "evals/a.yaml": evals()}
    assert ".agentv/targets.yaml:1:1: no list of targets" in problem(project(tmp_path, files))
    grader = "{type: code, config: {method: regex, pattern: x}}"
    case = f"{{id: a, input: {{type: prompt, content: Hi}}, grader: {grader}}}"
    there = project(tmp_path, files | {"evals/a.yaml": case})
    assert len(load_evals(["evals"], there.root, targets=there.targets).cases) == 1


def test_a_service_that_the_configuration_names_may_be_sent_its_secrets(tmp_path: Path) -> None:
    config = (
        "variables: {token: {value: s3cret-0123456789, secret: true}}\n"
        "targets: {agent: {type: post, url: 'https://agents.example.com/ask', headers: {X: '{{token}}'}}}\n"
    )
    there = project(tmp_path, {"baselinekit.yaml": config})
    there.trust.check_request("https://agents.example.com/ask", there.scope.secrets.items())
    with pytest.raises(Refused, match="BK402"):
        there.trust.check_request("https://other.example.com/ask", there.scope.secrets.items())


def test_nobody_describes_a_target() -> None:
    assert Targets().find("default")[0].execution == PromptExecution("prompt", model="default")
    _, (wrong,) = Targets().find("gpt")
    assert (
        str(wrong)
        == "BK798 there is no target 'gpt': describe it in .agentv/targets.yaml, or under `targets:`"
    )
