"""Cases in another form: what is written is read back, and what it lacks is listed."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from promptfiles import prompt_folder
from storehelp import write

from baselinekit.errors import InvalidInput, Refused
from baselinekit.eva import writer as eva
from baselinekit.importers.drafts import SourceText
from baselinekit.kinds.programs import CliExecution
from baselinekit.model.values import Json
from baselinekit.moving.conversion import (
    FORMS,
    Conversion,
    case_facts,
    convert_suite,
    facts_of_place,
    lost_between,
    name_of_place,
    read_draft,
)
from baselinekit.moving.reading import EvalFiles
from baselinekit.suites.loading import load_cases
from baselinekit.suites.targets import Targets, configured_targets
from baselinekit.suites.writing import CaseReader

TODAY = "2026-03-01"
PLACES = {"cases": "evals/out.yaml", "eva": "prompts/out/eval.yml", "agentv": "evals/out.eval.yaml"}


def convert(root: Path, path: str, to: str) -> Conversion:
    before = set(root.rglob("*"))
    made = convert_suite(path, CaseReader(str(root)), FORMS[to], PLACES[to], TODAY)
    assert set(root.rglob("*")) == before  # files that were read back are removed
    return made


def cases_file(root: Path, *cases: dict[str, Json], **around: Json) -> str:
    document = {"metadata": {"id": "own"}, **around, "test_cases": list(cases)}
    write(root, "evals/own.yaml", json.dumps(document))
    return "evals/own.yaml"


def prompt_case(**more: Any) -> dict[str, Json]:
    return {"id": "a", "input": {"type": "prompt", "content": "Why?"}, **more}


def code(method: str, **config: Json) -> dict[str, Json]:
    return {"type": "code", "config": {"method": method, **config}}


def put(root: Path, made: Conversion) -> str:
    for name, text in made.files.items():
        write(root, name, text)
    return next(iter(made.files))


def lines(made: Conversion) -> list[str]:
    return [str(loss) for loss in made.lost]


# There and back.


WORDS = st.text("abc .{}\\\n'\"é", min_size=1, max_size=12).filter(str.strip)
LISTS = st.lists(WORDS, min_size=1, max_size=2)
GRADERS = st.one_of(
    st.builds(lambda a: code("contains", all=a), LISTS),
    st.builds(lambda a, n: code("contains", any=a, none=n), LISTS, LISTS),
    st.builds(lambda a: code("contains", all=a, case_sensitive=False), LISTS),
    st.just(code("regex", pattern="a+b", flags=["ignorecase"])),
    st.just(code("regex", pattern="x", must_match=False)),
    st.builds(lambda n: code("token_count", min=1, max=n), st.integers(1, 9)),
    st.just(code("json_schema", schema={"type": "object"})),
    st.builds(lambda t: {"type": "model", "config": {"rubric": [{"name": "n", "description": t}]}}, WORDS),
    st.just({"type": "model", "config": {"method": "score_line", "rubric": "Kind?", "pass_threshold": 3}}),
)
EXPECTED = st.one_of(
    st.none(),
    st.builds(lambda t: {"type": "exact", "value": t}, WORDS),
    st.builds(lambda t: {"type": "contains", "value": t}, LISTS),
    st.just({"type": "exact", "value": {"a": 1}}),
)


@st.composite
def stated_cases(draw: st.DrawFn) -> list[dict[str, Json]]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        expected, graders = draw(EXPECTED), draw(st.lists(GRADERS, min_size=0, max_size=3))
        case: dict[str, Json] = {"id": f"c{number}", "input": {"type": "prompt", "content": draw(WORDS)}}
        case |= {"expected": expected} if expected else {}
        case |= {"graders": graders} if graders or not expected else {}
        case["metadata"] = draw(
            st.sampled_from([{}, {"retries": 1}, {"timeout_seconds": 5}, {"tags": ["x"]}])
        )
        found.append(case)
    return found


@settings(max_examples=settings().max_examples * 2 // 5, deadline=None)
@given(stated_cases())
def test_convert_there_and_back_is_the_same_but_for_the_listed_losses(stated: list[dict[str, Json]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        path = cases_file(root, *stated)
        try:
            before = load_cases([path], folder)
        except InvalidInput:  # such as a check that cannot fail
            return
        there = convert(root, path, "eva")
        named = {loss.case.id for loss in there.lost if loss.case is not None}
        same = [case for case in before if case.id not in named]
        if not there.files:
            assert not same
            return
        back = convert(root, put(root, there), "cases")
        assert not back.lost
        put(root, back)
        again = {case.name: case for case in load_cases([PLACES["cases"]], folder)}
        for case in same:
            twin = again[case.id.partition("/")[2]]
            before_and_after = (case_facts(case, eva.equivalent), case_facts(twin, eva.equivalent))
            assert [what for what, is_lost in lost_between(*before_and_after) if is_lost] == []


# What has no counterpart.


LLM_JUDGE = {"type": "model", "config": {"method": "llm_judge"}}
TO_EVA = {
    "{input: {type: prompt, content: '{{x}}'}, expected: {value: b}}": [
        "the variable {{x}} of the project is literal"
    ],
    "{input: {type: skill, content: x}, expected: {value: b}, execution: {type: skill, skill_name: s}}": [
        "a prompt folder asks a model, and this asks by `type: skill`"
    ],
    "{expected: {value: b}, metadata: {retries: 2, difficulty: hard}}": [
        "`difficulty`: 'hard'",
        "`retries`: 2 would",
    ],
    """
    graders:
    - {type: code, config: {method: contains, all: [b]}, weight: 2, required: false}
    - {type: code, config: {method: function_output, function_name: f, test_cases: [{expected: 2}]}}
    """: [
        *("the weight 2 of 'contains' would become 1", "'contains' is optional and would be required"),
        "the grader 'function_output'",
    ],
    "{expected: {value: b}, execution: {type: prompt, system: Be kind.}, sidecar: {k: 1}}": [
        *("who is asked (system): 'Be kind.'", "what is wanted (sidecar): {'k': 1}")
    ],
}
JUDGE = "{type: model, config: {method: llm_judge}}"
LATENCY = "type: code, config: {method: latency, max_seconds: 2}"
TO_AGENTV = {
    "{expected_outcome: It says b., expected: {value: b}}": [
        "none of its graders is one of AgentV's: there are"
    ],
    f"{{expected_outcome: b, graders: [{JUDGE}, {{{LATENCY}, required: false}}]}}": [
        "the pass rule: 'all required graders' would become 'a mean of 0.8"
    ],
    f"""
    expected_outcome: It says b.
    reference: b
    sidecar: {{language: en}}
    graders:
    - {{type: model, name: rubric, config: {{method: rubric, rubrics: [Says b]}}}}
    - {{{LATENCY}}}
    - {JUDGE}
    """: [],
}
LOST = [(to, *row) for to, rows in (("eva", TO_EVA), ("agentv", TO_AGENTV)) for row in rows.items()]


@pytest.mark.parametrize(("to", "stated", "lost"), LOST)
def test_convert_lists_losses_of_another_form(tmp_path: Path, to: str, stated: str, lost: list[str]) -> None:
    """One case stops no other."""
    good = prompt_case(expected={"value": "b"}, expected_outcome="x")
    good |= {"id": "b", "graders": [code("contains", all=["b"]), LLM_JUDGE]}
    made = convert(tmp_path, cases_file(tmp_path, prompt_case(**yaml.safe_load(stated)), good), to)
    found = [line.removeprefix("own/a: ") for line in lines(made) if line.startswith("own/a: ")]
    assert len(found) == len(lost)
    assert all(line.startswith(start) for line, start in zip(found, lost, strict=True)), found
    assert made.files
    if not lost:
        assert "threshold: 2000\n" in made.files[PLACES["agentv"]]


def test_convert_of_a_folder_lists_its_script_and_what_the_new_place_adds(tmp_path: Path) -> None:
    """A file of test cases goes by the suite of its folder."""
    folder = prompt_folder(tmp_path)
    (folder / "guard.sh").write_text("exit 0\n")
    suite = "eval_suite: {name: s, evals: [{$ref: gone.yaml}], config: {retry_failed: true}}\n"
    write(tmp_path, "evals/eval-suite.yaml", suite)
    assert sorted(lines(convert(tmp_path, "prompts/refactor", "cases"))) == [
        "one: `retries`: 0 would become 1",
        "one: guard.sh: 'prompts/refactor/guard.sh'",
    ]


def test_convert_of_agentv_keeps_its_description_and_lists_what_eva_lacks(tmp_path: Path) -> None:
    line = json.dumps(agentv_case())
    write(tmp_path, "evals/x.jsonl", f"{line}\n{line.replace('a', 'b', 1)}\n")
    assert convert(tmp_path, "evals/x.jsonl", "cases").count == 2
    write(tmp_path, "evals/own.yaml", f"description: Why is asked\n{RANGES}")
    assert read_draft(SourceText("x.yaml", RANGES), EvalFiles()) is None
    assert "Why is asked" in next(iter(convert(tmp_path, "evals/own.yaml", "cases").files.values()))


# AgentV.


def agentv_case(**more: Json) -> dict[str, Json]:
    return {"id": "a", "expected_outcome": "It says b.", "input": "Why?", **more}


JUDGES: dict[str, Json] = yaml.safe_load("""
plain: {name: llm_judge, type: llm_judge}
prompt: {name: depth, type: llm_judge, prompt: "Is {{candidate_answer}} deep?", weight: 2}
program: {name: p, type: code_judge, script: [python3, c.py], target: {max_calls: 3}, own: 1}
rubric: {name: r, type: rubric, rubrics: [{id: a, expected_outcome: Says a, weight: 2}]}
ranges: {name: s, type: rubric, rubrics: [{id: b, score_ranges: {"0": bad, "6": good}}]}
latency: {name: l, type: latency, threshold: 1500, required: true}
cost: {name: c, type: cost, budget: 0.5}
tokens: {name: t, type: token_usage, max_total: 100}
trajectory:
  {name: w, type: tool_trajectory, mode: exact, expected: [{tool: x, args: {k: 1}, max_duration_ms: 20}]}
fields: {name: f, type: field_accuracy, fields: [{path: a.b, match: date}]}
""")
COMPOSITE = {"name": "both", "type": "composite", "evaluators": [JUDGES["latency"], JUDGES["program"]]}
JUDGES["mean"] = {**COMPOSITE, "aggregator": {"type": "weighted_average", "weights": {"l": 3}}}
WEIGH = {"type": "llm_judge", "prompt": "Weigh {{candidate_answer}}."}
JUDGES["judged"] = {**COMPOSITE, "name": "weighed", "aggregator": WEIGH}
MESSAGES: list[Json] = yaml.safe_load("""
- Why?
- [{role: system, content: Be kind.}, {role: user, content: "Why {{x}}?"}]
- [{role: user, content: [{type: text, value: Read}, {type: file, value: ./notes.md}]}]
- {a: [1, null]}
""")
REFERENCES: list[Json] = yaml.safe_load("""
- null
- b
- [{role: assistant, content: b, tool_calls: [{tool: x, input: {k: 1}, output: null}]}]
""")
MORE: list[dict[str, Json]] = [
    *({}, {"sidecar": {"k": [1]}}, {"rubrics": ["Says b"]}, {"tags": ["t"]}, {"conversation_id": "c"})
]


SOME_JUDGES = st.lists(st.sampled_from([*JUDGES]), max_size=3, unique=True)
PROGRAM = CliExecution("cli", target="other", command=["other", "{EVAL_ID}", "{FILES}", "{PROMPT}"])


@settings(max_examples=settings().max_examples * 2 // 5, deadline=None)
@given(
    st.lists(
        st.tuples(SOME_JUDGES, st.sampled_from(MESSAGES), st.sampled_from(REFERENCES), st.sampled_from(MORE)),
        min_size=1,
        max_size=3,
    )
)
def test_convert_of_agentv_there_and_back_is_the_same(
    stated: list[tuple[list[str], Json, Json, dict[str, Json]]],
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "evals/notes.md", "Notes.\n")
        cases = []
        for number, (judges, question, reference, more) in enumerate(stated):
            made = agentv_case(id=f"c {number}", input=question, **more)
            made |= {"expected_output": reference} if reference is not None else {}
            made |= {"execution": {"evaluators": [JUDGES[name] for name in judges]}} if judges else {}
            cases.append(made)
        write(root, "evals/av.yaml", json.dumps({"dataset": "av", "evalcases": cases}))
        there = convert(root, "evals/av.yaml", "cases")
        assert (there.count, lines(there)) == (len(cases), [])
        files = "evals/av.yaml", put(root, there)
        recipes = [[case.recipe for case in load_cases([file], folder, PROGRAM)] for file in files]
        assert recipes[0] == recipes[1]
        back = convert(root, files[1], "agentv")
        assert (back.count, lines(back)) == (len(cases), [])
        put(root, back)
        first, again = (load_cases([file], folder) for file in ("evals/av.yaml", PLACES["agentv"]))
        for old, new in zip(first, again, strict=True):
            before, after = (case_facts(case) | facts_of_place(case, folder) for case in (old, new))
            assert [*lost_between(before, after)] == []
            assert (old.wanted.asked, old.wanted.input_files) == (new.wanted.asked, new.wanted.input_files)


RANGES = """\
evalcases:
  - id: a
    expected_outcome: Is right
    input: Why?
    rubrics:
      - id: depth
        score_ranges: {0: wrong, 6: right}
"""


# Secrets, links, and files of a killed process.


def test_convert_of_a_variable_in_a_header_keeps_it(tmp_path: Path) -> None:
    target = SENT | {"headers": {"Authorization": "Bearer {{token}}"}}
    reader = CaseReader(str(tmp_path), targets=Targets((configured_targets({"default": target}, list),)))
    write(tmp_path, "evals/own.yaml", "evalcases:\n- {id: a, expected_outcome: x, input: Why?}\n")
    made = convert_suite("evals/own.yaml", reader, FORMS["cases"], PLACES["cases"], TODAY)
    assert (made.count, lines(made)) == (1, [])
    assert "Authorization: Bearer {{token}}" in made.files[PLACES["cases"]]


KEY = "sk-proj-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcd"
SENT = {"type": "post", "url": "https://agents.example.com/ask"}


@pytest.mark.parametrize(
    ("execution", "message"),
    [
        (SENT | {"headers": {"X-Api-Key": "letmein77"}}, "the header X-Api-Key carries credentials"),
        ({"type": "cli", "command": f"ask --key {KEY} {{PROMPT}}"}, "execution.command holds what looks"),
        ({"type": "mock", "response": f"It is {KEY}."}, "execution.response holds what looks like a secret"),
    ],
)
@pytest.mark.parametrize("to", ["cases", "agentv"])
def test_convert_of_a_credential_in_plain_text_does_not_copy_it(
    tmp_path: Path, execution: dict[str, Json], message: str, to: str
) -> None:
    """A target of the configuration is written out in a file of cases."""
    stated = {"named": execution, "fixed": {"type": "mock", "response": "42"}}
    targets = Targets((configured_targets(stated, list),))
    path, case = "evals/own.yaml", "- {id: %s, expected_outcome: x, input: Why?, execution: {target: %s}}\n"
    if to == "cases":
        write(tmp_path, path, "evalcases:\n" + "".join(case % (name, name) for name in stated))
    else:
        own = prompt_case(graders=[LLM_JUDGE], expected_outcome="x", execution=execution)
        path = cases_file(tmp_path, own, {**own, "id": "b", "execution": {"type": "prompt"}})
    made = convert_suite(path, CaseReader(str(tmp_path), targets=targets), FORMS[to], PLACES[to], TODAY)
    lost = next(line for line in lines(made) if "credential in plain text" in line)
    assert message in lost
    assert "under `variables:`" in lost
    assert made.count == 1
    shown = "".join((*made.files.values(), *lines(made)))
    assert ("letmein77" in shown, KEY in shown) == (False, False)
    ((message, _),) = lost_between({"the question": f"{'x' * 45} {KEY}"}, {})
    assert "sk-proj" not in message  # half of a secret is not shown


def test_convert_to_a_place_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/evals").symlink_to(tmp_path)
    with pytest.raises(Refused, match="leads out of the project"):
        name_of_place(str(tmp_path / "project"), str(tmp_path / "project/evals/x.yaml"))
