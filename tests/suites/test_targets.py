"""Targets by their names: of the configuration, of a targets file, and of one that was found."""

from pathlib import Path
from typing import Any

import pytest
from promptfiles import FOLDER, prompt_folder

from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import BaselinekitError, InvalidInput, Refused
from baselinekit.kinds.given import MockExecution
from baselinekit.kinds.programs import CliExecution
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.model.recipes import Config, Execution, Model
from baselinekit.secrets.variables import Scope
from baselinekit.structs import plain, replace
from baselinekit.suites.loading import load_evals
from baselinekit.suites.targets import Targets, add_named_targets, read_file

TARGETS = ".agentv/targets.yaml"


def write_project(root: Path, files: dict[str, str], **operator: Any) -> Project:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    (root / ".git").mkdir(exist_ok=True)
    return open_project(Operator(str(root), **operator))


def evals(target: str = "", case: str = "") -> str:
    own = f", execution: {{target: {case}}}" if case else ""
    file = f"execution: {{target: {target}}}\n" if target else ""
    return f"{file}evalcases:\n- {{id: one, expected_outcome: Right., input: Hi{own}}}\n"


def target_and_judge(project: Project) -> tuple[Execution, Any]:
    """Return the target of the only case, and the model that judges it."""
    (case,) = load_evals(["evals"], project.root, targets=project.targets).cases
    (grader,) = case.graders
    return case.recipe.execution, grader.method.model


def problems(project: Project) -> str:
    with pytest.raises(BaselinekitError) as raised:
        load_evals(["evals"], project.root, targets=project.targets)
    return str(raised.value)


def mock(name: str, answer: str = "42") -> str:
    return f"- {{name: {name}, provider: mock, response: '{answer}'}}\n"


LIST = "targets:\n" + "".join(mock(name, name) for name in ("default", "file", "case", "typed"))


@pytest.mark.parametrize(
    ("target", "case", "typed", "expected"),
    [
        ("", "", None, "default"),
        ("file", "case", None, "case"),
        ("file", "case", "typed", "typed"),
        ("file", "case", "default", "case"),
    ],
)
def test_a8_target_typed_or_stated_by_precedence(
    tmp_path: Path, target: str, case: str, typed: str | None, expected: str
) -> None:
    project = write_project(tmp_path, {TARGETS: LIST, "evals/a.yaml": evals(target, case)}, target=typed)
    assert target_and_judge(project)[0] == MockExecution("mock", expected, target=expected)


URL = "base_url: 'http://127.0.0.1:1'"
MODELS = f"models: {{small: {{openai: s, {URL}}}, big: {{openai: b, {URL}}}}}\n"
MODELS += (
    "targets: {fixed: {type: mock, response: '7'}, terse: {type: prompt, model: small, system: Be brief.}, "
    "agent: {type: cli, command: 'agent {PROMPT}'}}\n"
)
CASE = "id: a\ninput: {type: prompt, content: Hi}\nexpected: {value: x}\n"
CASES = "[{id: a, input: {type: prompt, content: Hi}, expected: {value: x}}]"
OWN = "{type: prompt, model: big, parse: json}"
FORMS = {
    "case": f"{CASE}execution: {OWN}\n",
    "suite by name": f"eval_suite: {{name: s, config: {{execution: {{target: big}}}}, evals: {CASES}}}",
}


@pytest.mark.parametrize("form", FORMS)
def test_target_typed_keeps_what_the_case_states_of_its_answer(tmp_path: Path, form: str) -> None:
    """The golden case target-of-every-form shows what it replaces."""
    files = {"baselinekit.yaml": MODELS, "evals/a.yaml": FORMS[form]}

    def execution(typed: str | None) -> Any:
        project = write_project(tmp_path, files, target=typed)
        (case,) = load_evals(["evals"], project.root, targets=project.targets).cases
        return case.recipe.execution

    own = execution(None)
    assert own.model == "big"
    assert execution("terse") == replace(own, model="small", system="Be brief.")
    assert execution("fixed") == MockExecution("mock", "7", target="fixed")


API, SKILL = "{type: api_call, content: {path: /}}", "{type: skill, content: 1}"
OWN_SKILL = "execution: {type: skill, skill_name: own}\n"


@pytest.mark.parametrize(
    ("case", "typed", "words"),
    [
        (f"input: {API}\nexecution: {{type: http, timeout: 3}}\n", "small", "timeout=3"),
        (f"input: {SKILL}\n{OWN_SKILL}", "other", "skill_name='other'"),
        (f"input: {SKILL}\n{OWN_SKILL}", "small", "`type: prompt`: its `execution`, or --target, has to be"),
    ],
)
def test_target_typed_for_requests_and_skills(tmp_path: Path, case: str, typed: str, words: str) -> None:
    config = f"{MODELS[:-2]}, other: {{type: skill, skill_name: other}}}}\n"
    files = {"baselinekit.yaml": config, "evals/a.yaml": f"id: a\nexpected: {{value: x}}\n{case}"}
    project = write_project(tmp_path, files, target=typed)
    try:
        (loaded,) = load_evals(["evals"], project.root, targets=project.targets).cases
        found = str(loaded.recipe.execution)
    except InvalidInput as error:
        found = str(error)
    assert words in found


def test_target_of_our_own_cases_that_is_wrong_is_refused(tmp_path: Path) -> None:
    config = MODELS.replace("targets: {", "targets: {\n  wrong: {type: mok}, ")
    stated = ("{target: smal}", "{target: small, parse: json}", "{target: 7}", "{target: wrong}")
    case = "- {{id: c{}, input: Hi, expected: {{value: x}}, execution: {}}}\n"
    text = "".join(case.format(number, execution) for number, execution in enumerate(stated))
    assert problems(write_project(tmp_path, {"baselinekit.yaml": config, "evals/a.yaml": text})) == (
        "BK798 evals/a.yaml:1:65: there is no target 'smal': there are wrong, fixed, terse, agent, "
        "big, small\n"
        "BK103 evals/a.yaml:2:72: unknown key 'parse': known here: target\n"
        "BK105 evals/a.yaml:3:65: expected a string, found 7 (integer)\n"
        "BK105 evals/a.yaml:4:65: baselinekit.yaml:3:17: unknown type 'mok' (string): did you mean 'mock'?"
    )


LOSSES = {
    "{role: tool, content: '42'}": "the role `tool` of message 2",
    "{role: assistant, tool_calls: [{tool: add}]}": "the tool calls of message 2",
    "{role: user, content: [{type: file, value: x.png}]}": "x.png in message 2, which is not UTF-8 text,",
    "{role: user, content: [{type: text, text: Hi}, {type: input_audio, data: x}]}": "part `input_audio`",
    "{role: user, content: [{type: image, value: x.png}]}": "expected one of text, file, found 'image'",
    "{role: user, content: [{type: file, value: x.md}]}": "",
}


def test_messages_that_cannot_be_sent_are_refused_at_load(tmp_path: Path) -> None:
    case = "- {{id: c{}, input: {{type: messages, content: [{}]}}, expected: {{value: x}}}}\n"
    text = "".join(case.format(number, message) for number, message in enumerate(LOSSES))
    text = text.replace("content: [{role", "content: [{role: user, content: Hi}, {role")
    files = {"baselinekit.yaml": MODELS, "evals/a.yaml": text, "evals/x.md": "text", "evals/x.png": ""}
    project = write_project(tmp_path, files, target="small")
    (tmp_path / "evals/x.png").write_bytes(b"\x89PNG\xff")
    expected = [words for words in LOSSES.values() if words]
    found = problems(project).splitlines()
    assert [words for words, problem in zip(expected, found, strict=True) if words not in problem] == []
    agent = write_project(tmp_path, files, target="agent")
    (tmp_path / "evals/x.png").write_bytes(b"\x89PNG\xff")
    assert "the tool calls of message 2 cannot be sent" in problems(agent)


def test_a8_targets_file_that_is_named_or_nearest_is_used(tmp_path: Path) -> None:
    files = {
        TARGETS: "targets:\n" + mock("default", "root"),
        f"evals/{TARGETS}": "targets:\n" + mock("default", "near"),
        "evals/deep/a.yaml": evals(),
        "mine.yaml": "targets:\n" + mock("default", "mine"),
    }

    def response(files: dict[str, str], **operator: Any) -> Any:
        execution: Any = target_and_judge(write_project(tmp_path, files, **operator))[0]
        return getattr(execution, "response", None)

    assert response(files) == "near"
    assert response(files | {f"evals/{TARGETS}": "targets: []"}) is None
    assert response(files, targets="mine.yaml") == "mine"
    configured = files | {"baselinekit.yaml": "targets: mine.yaml\n"}
    assert response(configured) == "mine"
    assert response(configured, targets=TARGETS) == "root"


def test_targets_of_the_configuration_and_models_by_their_names(tmp_path: Path) -> None:
    config = (
        "models: {small: {openai: tiny, base_url: 'http://127.0.0.1:1'}}\n"
        "targets:\n  fixed: {type: mock, response: '7', judge: small, workers: 2}\n"
        "  agent: {type: cli, command: 'agent {PROMPT}', env: [HOME]}\n"
    )
    files = {"baselinekit.yaml": config, "evals/a.yaml": evals("fixed")}
    project = write_project(tmp_path, files)
    assert target_and_judge(project) == (MockExecution("mock", "7", target="fixed"), "small")
    assert load_evals(["evals"], project.root, targets=project.targets).config.max_workers == 2
    assert project.executions["agent"] == CliExecution("cli", "agent {PROMPT}", env=["HOME"], target="agent")
    by_model = write_project(tmp_path, files, target="small")
    assert target_and_judge(by_model)[0] == PromptExecution("prompt", model="small")
    target, _ = Targets().find("default")
    assert target is not None
    assert target.execution == PromptExecution("prompt", model="default")
    cases = "cases:\n- {name: a, model: big, inputs: {}, assert: [contains: x]}\n"
    prompt_folder(tmp_path, f"defaults: {{model: big}}\n{cases}")
    for typed, model in ((None, "big"), ("small", "small"), ("default", "big")):
        project = write_project(tmp_path, {"baselinekit.yaml": MODELS}, target=typed)
        (case,) = load_evals([FOLDER], project.root, targets=project.targets).cases
        assert case.recipe.execution.model == model
    project = write_project(tmp_path, {}, target="fixed")
    with pytest.raises(InvalidInput, match=r"BK715 .*a prompt folder is for a model, not for mock"):
        load_evals([FOLDER], project.root, targets=project.targets)


# What a targets file states.


def read_target(keys: str, tmp_path: Path, named: bool = True, **variables: Any) -> Any:
    """Read a target with these keys, as it is or with its problems."""
    (tmp_path / "t.yaml").write_text(f"targets:\n- {{name: x, {keys}}}\n", "utf-8")
    file = read_file(str(tmp_path), "t.yaml")
    assert not file.problems
    return replace(file, lookup=variables.get, named=named).target("x")


AZURE = "https://east.openai.azure.com/openai/deployments/gpt/chat/completions?api-version="
CHECK = "healthcheck: {type: http, url: 'http://h/${{ B }}', timeoutSeconds: 3}"
CLI = "provider: cli, commandTemplate: '${{ B }} {FILES}', filesFormat: '-f {path}', cwd: ../d"
RETRY = {"wait": 0.5, "longest": 9, "factor": 3, "statuses": [429]}
RETRIES = "retryInitialDelayMs: 500, retry_max_delay_ms: 9000, retry_backoff_factor: 3"
KEY, HEADERS = "api_key: '${{ K }}'", {"headers": {"api-key": "{{K}}"}}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("provider: mock, delayMinMs: 100, delayMaxMs: 300", {"delay": 0.1}),
        ("provider: mock, response: '{{a}} ${{ B }}'", {"response": "\\{{a}} {{B}}"}),
        (CLI, {"command": "{{B}} {FILES}", "files_format": "-f {path}", "cwd": "../d"}),
        (
            f"provider: cli, command: c, {CHECK}",
            {"command": "c", "healthcheck": {"url": "http://h/{{B}}", "timeout": 3}},
        ),
        (
            "provider: cli, command: c, healthcheck: {command: d}",
            {"command": "c", "healthcheck": {"command": "d"}},
        ),
        (
            "provider: anthropic, model: m, api_key: '${{K}}', maxTokens: 9",
            {"anthropic": "m", "key": "K", "max_tokens": 9},
        ),
        (
            f"provider: azure, resource: east, deployment: gpt, {KEY}, temperature: 0",
            {"openai": "gpt", "base_url": AZURE + "2024-12-01-preview", "temperature": 0} | HEADERS,
        ),
        (
            f"provider: openrouter, model: m, {KEY}, max_retries: 1",
            {"openai": "m", "base_url": "https://openrouter.ai/api", "key": "K", "retries": 1},
        ),
        (
            f"provider: openai, model: m, workers: 3, {RETRIES}, retry_status_codes: [429]",
            {"openai": "m", "concurrency": 3, "retry": RETRY},
        ),
    ],
)
def test_a8_a51_targets_file_has_targets_and_models(tmp_path: Path, keys: str, expected: Any) -> None:
    target, found = read_target(keys, tmp_path, K="k", B="b")
    assert found == []
    stated = plain(target.model or target.execution)
    assert {key: value for key, value in stated.items() if key not in ("type", "target")} == expected


def test_variable_of_a_target_may_be_zero(tmp_path: Path) -> None:
    target, found = read_target("provider: openai, model: 'm${{ N }}'", tmp_path, N=0)
    assert found == []
    assert target.model.openai == "m0"


def test_a51_mistake_in_a_target_has_its_place(tmp_path: Path) -> None:
    """The golden cases mistakes-targets show the usual ones."""
    for keys, words in {
        "provider: azure, model: m, deployment: n": "2:52: 'model' is stated twice: keep one",
        "provider: cli, command: run, healthcheck: {type: tcp}": "2:56: unknown key 'type'",
        "provider: cli, command: run, healthcheck: {command: a, command_template: b}": "2:86: 'command' is",
        "provider: openai, model: m, retry: 3, retry_backoff_factor: 2": "'factor' is stated twice",
        "provider: openai": "model",
        "provider: mock, type: cli, command: x": "unknown key 'command'",
        "provider: claude-code": "unknown provider 'claude-code': one of cli, mock, openai",
    }.items():
        target, found = read_target(keys, tmp_path)
        assert target is None
        assert words in "\n".join(map(str, found))
    config = "targets:\n  x: {type: mock, response: '${{ X }}', respons: y}\n"
    found = problems(write_project(tmp_path, {"baselinekit.yaml": config, "evals/a.yaml": evals("x")}))
    assert "2:41: unknown key 'respons'" in found
    assert "${{ NAME }} is for targets files" in found


# Variables and models of a targets file.


KEYED = (
    "targets:\n- {name: default, provider: mock, judge_target: judge_llm, response: '${{ ANSWER }}'}\n"
    "- {name: judge_llm, provider: openai, model: m, api_key: '${{ MY_API_KEY }}'}\n"
    "- {name: broken, provider: mock, response: '${{ NOWHERE }}'}\n"
)
ENVIRON = {"ANSWER": "42", "MY_API_KEY": "sk-0123456789abcdef", "OTHER": "not used"}


def test_a8_named_targets_file_takes_variables_from_the_environment(tmp_path: Path) -> None:
    files = {"t.yaml": KEYED, "evals/a.yaml": evals()}
    project = write_project(tmp_path, files, targets="t.yaml", environ=ENVIRON)
    execution, judge = target_and_judge(project)
    assert (execution, judge) == (MockExecution("mock", "{{ANSWER}}", target="default"), "judge_llm")
    assert project.scope.values == {"ANSWER": "42"}
    assert project.scope.secrets["MY_API_KEY"].value == ENVIRON["MY_API_KEY"]
    assert project.models["judge_llm"] == Model(openai="m", key="MY_API_KEY")
    assert project.redactor.mask("it is sk-0123456789abcdef") == "it is ***"
    broken = write_project(tmp_path, files, targets="t.yaml", environ=ENVIRON, target="broken")
    assert "BK798 t.yaml:4:44: the variable NOWHERE is not set: declare it under" in problems(broken)


def test_a8_found_targets_file_takes_declared_variables_only(tmp_path: Path) -> None:
    files = {TARGETS: KEYED, "evals/a.yaml": evals()}
    project = write_project(tmp_path, files, environ=ENVIRON)
    found = problems(project)
    assert "BK798 .agentv/targets.yaml:2:70: the variable ANSWER is not set: declare it under" in found
    assert (project.scope.values, project.models, project.executions) == ({}, {}, {})
    declared = files | {"baselinekit.yaml": "variables: {ANSWER: {from_env: ANSWER}}\n"}
    execution: Any = target_and_judge(write_project(tmp_path, declared, environ=ENVIRON))[0]
    assert execution.response == "{{ANSWER}}"
    judge = write_project(tmp_path, declared, environ=ENVIRON, target="judge_llm")
    assert "the configuration describes no model of this name" in problems(judge)
    described = declared | {"baselinekit.yaml": "models: {judge_llm: {command: [judge]}}\n"}
    project = write_project(tmp_path, described, environ=ENVIRON, target="judge_llm")
    assert target_and_judge(project)[0] == PromptExecution("prompt", model="judge_llm")


def test_file_named_by_the_configuration_of_another_commit_counts_as_found(tmp_path: Path) -> None:
    """It is in the checkout, and may have been changed since."""
    (tmp_path / "t.yaml").write_text(KEYED, "utf-8")
    for environ, readable in ((ENVIRON, ["default", "judge_llm"]), (None, [])):
        config = Config(targets="t.yaml")
        found, scope = add_named_targets(config, None, str(tmp_path), Scope(), None, environ)
        assert [target.name for target in found.readable()] == readable
        assert ("ANSWER" in scope.values) is bool(readable)


def test_empty_name_of_file_is_not_replaced_by_the_one_of_the_configuration(tmp_path: Path) -> None:
    files = {"baselinekit.yaml": "targets: t.yaml\n", "t.yaml": KEYED}
    for config in (files, {"baselinekit.yaml": "version: 1\n"}):
        with pytest.raises(InvalidInput) as raised:
            write_project(tmp_path, config, targets="", environ=ENVIRON)
        assert str(raised.value.problems[0].place) == "."


def test_found_list_that_is_broken_affects_only_cases_that_name_a_target(tmp_path: Path) -> None:
    for text in ("a: 1", "targets: [", None):
        with pytest.raises(InvalidInput, match=r"t\.yaml"):
            write_project(tmp_path, {} if text is None else {"t.yaml": text}, targets="t.yaml")
        (tmp_path / "t.yaml").unlink(missing_ok=True)
    files = {TARGETS: "targets: 7\n", "evals/a.yaml": evals()}
    assert ".agentv/targets.yaml:1:10: expected a list, found 7" in problems(write_project(tmp_path, files))
    grader = "{type: code, config: {method: regex, pattern: x}}"
    case = f"{{id: a, input: {{type: prompt, content: Hi}}, grader: {grader}}}"
    project = write_project(tmp_path, files | {"evals/a.yaml": case})
    assert len(load_evals(["evals"], project.root, targets=project.targets).cases) == 1


def test_service_of_the_configuration_may_get_its_secrets(tmp_path: Path) -> None:
    config = (
        "variables: {token: {value: s3cret-0123456789, secret: true}}\n"
        "targets: {agent: {type: post, url: 'https://agents.example.com/ask', headers: {X: '{{token}}'}}}\n"
    )
    project = write_project(tmp_path, {"baselinekit.yaml": config})
    project.trust.check_request("https://agents.example.com/ask", project.scope.secrets.items())
    with pytest.raises(Refused, match="BK402"):
        project.trust.check_request("https://other.example.com/ask", project.scope.secrets.items())
