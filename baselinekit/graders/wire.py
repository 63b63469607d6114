"""The JSON that a program that judges receives, and the variables of a template by the same names: a case,
its result, and the texts made of both. Keys in the values of users stay as they are."""

from collections import Counter
from collections.abc import Mapping, Sequence

from baselinekit.graders.task import Task, input_of
from baselinekit.kinds.messages import message_as_json, milliseconds, plain_text
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json

TEXTS = ("question", "expected_outcome", "reference_answer", "candidate_answer")
MESSAGES = ("input_messages", "expected_messages", "output_messages")


def wire_of(
    task: Task,
    observation: Observation,
    config: Mapping[str, Json] | None = None,
    results: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """The whole JSON, with null for what is missing. `config`: what the grader passes to its program;
    `results`: what an aggregator sums up, which no other program receives."""
    wanted = task.case.wanted
    return {
        **({"results": dict(results)} if results else {}),
        **texts_of(task, observation),
        "guideline_files": [*wanted.guideline_files],
        "input_files": [*wanted.input_files],
        **messages_of(task, observation),
        "trace_summary": trace_summary(observation),
        "config": dict(config) if config else None,
        "sidecar": dict(wanted.sidecar) or None,
    }


def texts_of(task: Task, observation: Observation) -> dict[str, str]:
    """The first message of the user, the expected outcome, the last message of the reference conversation,
    and the answer; "" for what is missing. Values that are no text are JSON."""
    return {**texts_of_case(task.case), "candidate_answer": plain_text(_answer(task, observation))}


def texts_of_case(case: Case) -> dict[str, str]:
    """The same without an answer."""
    user_messages = [message for message in _input_messages(case) if message.role == "user"]
    reference = _reference(case)
    return {
        "question": plain_text(user_messages[0].content) if user_messages else "",
        "expected_outcome": case.wanted.outcome,
        "reference_answer": plain_text(reference[-1].content) if reference else "",
    }


def messages_of(task: Task, observation: Observation) -> dict[str, Json]:
    """The messages of the input, of the reference and of the output; an answer alone counts as a message."""
    output_messages = observation.messages or (
        TraceMessage("assistant", _answer(task, observation), observation.tool_calls or ()),
    )
    conversations = (_input_messages(task.case), _reference(task.case), output_messages)
    return {
        name: [message_as_json(message) for message in messages]
        for name, messages in zip(MESSAGES, conversations, strict=True)
    }


def calls_of(observation: Observation) -> Sequence[ToolCall] | None:
    """The calls of tools in their order; None if it is unknown whether there were any."""
    if observation.messages:
        return [call for message in observation.messages for call in message.tool_calls]
    return observation.tool_calls


def trace_summary(observation: Observation) -> dict[str, Json] | None:
    """The counted calls and the usage of a run. Unknown figures are left out; None if only the time is
    known."""
    calls, usage = calls_of(observation), observation.usage
    if calls is None and usage == Usage():
        return None
    summary: dict[str, Json] = {}
    if calls is not None:
        counts = Counter(call.name for call in calls)
        summary = {
            "event_count": len(calls),
            "tool_names": sorted(counts),
            "tool_calls_by_name": {name: counts[name] for name in sorted(counts)},
            "error_count": sum(call.error is not None for call in calls),
        }
    tokens = {"input": usage.tokens_in, "output": usage.tokens_out, "cached": usage.tokens_cached}
    if known_tokens := {name: count for name, count in tokens.items() if count is not None}:
        summary["token_usage"] = known_tokens
    if usage.cost_usd is not None:
        summary["cost_usd"] = float(usage.cost_usd)
    return {**summary, "duration_ms": milliseconds(observation.seconds)}


def _input_messages(case: Case) -> Sequence[TraceMessage]:
    """The messages that a case asks with. Any other input counts as a message of the user."""
    return case.wanted.asked or (TraceMessage("user", input_of(case)),)


def _reference(case: Case) -> Sequence[TraceMessage]:
    """The reference conversation; if there is none, the expected value as a message."""
    expected = case.expected
    if case.wanted.messages or expected is None:
        return case.wanted.messages
    return (TraceMessage("assistant", expected.value),)


def _answer(task: Task, observation: Observation) -> Json:
    """The part of the output that the grader looks at."""
    answer = task.look(observation.output)
    return None if answer is ABSENT else answer
