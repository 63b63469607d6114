"""What a program that judges is told, as JSON, and a template by the same names: a case, what came of it, and
the texts that follow from both. The keys of what others wrote stay as they wrote them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from baselinekit.grade.task import Task, input_of
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
    """All of it; null where there is nothing. `config`: what the grader hands to its program; `results`: what
    it sums up, which no other program is told of."""
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
    """The first thing that a user asks, what the answer should do, the last message of the conversation that
    went well, and the answer; "" where there is none. What is no text is JSON."""
    return {**texts_of_case(task.case), "candidate_answer": plain_text(_answer(task, observation))}


def texts_of_case(case: Case) -> dict[str, str]:
    """The same without an answer."""
    asked = [message for message in _asked(case) if message.role == "user"]
    reference = _reference(case)
    return {
        "question": plain_text(asked[0].content) if asked else "",
        "expected_outcome": case.wanted.outcome,
        "reference_answer": plain_text(reference[-1].content) if reference else "",
    }


def messages_of(task: Task, observation: Observation) -> dict[str, Json]:
    """What was asked, what a good conversation is, and what was said; a lone answer is a message."""
    said = observation.messages or (
        TraceMessage("assistant", _answer(task, observation), observation.tool_calls or ()),
    )
    conversations = (_asked(task.case), _reference(task.case), said)
    return {
        name: [message_as_json(message) for message in messages]
        for name, messages in zip(MESSAGES, conversations, strict=True)
    }


def calls_of(observation: Observation) -> Sequence[ToolCall] | None:
    """The tools that were called, in their order; None where nobody said whether there were any."""
    if observation.messages:
        return [call for message in observation.messages for call in message.tool_calls]
    return observation.tool_calls


def trace_summary(observation: Observation) -> dict[str, Json] | None:
    """What a run took, counted. What nobody told is left out; None where that is all but the time."""
    calls, usage = calls_of(observation), observation.usage
    if calls is None and usage == Usage():
        return None
    told: dict[str, Json] = {}
    if calls is not None:
        counted = Counter(call.name for call in calls)
        told = {
            "event_count": len(calls),
            "tool_names": sorted(counted),
            "tool_calls_by_name": {name: counted[name] for name in sorted(counted)},
            "error_count": sum(call.error is not None for call in calls),
        }
    tokens = {"input": usage.tokens_in, "output": usage.tokens_out, "cached": usage.tokens_cached}
    if known := {name: count for name, count in tokens.items() if count is not None}:
        told["token_usage"] = known
    if usage.cost_usd is not None:
        told["cost_usd"] = float(usage.cost_usd)
    return {**told, "duration_ms": milliseconds(observation.seconds)}


def _asked(case: Case) -> Sequence[TraceMessage]:
    """A case that asks with something else than messages asks as a user."""
    return case.wanted.asked or (TraceMessage("user", input_of(case)),)


def _reference(case: Case) -> Sequence[TraceMessage]:
    """What went well; of a case that states a value to be equal to, that value."""
    expected = case.expected
    if case.wanted.messages or expected is None:
        return case.wanted.messages
    return (TraceMessage("assistant", expected.value),)


def _answer(task: Task, observation: Observation) -> Json:
    """The part of the output that the grader looks at."""
    answer = task.look(observation.output)
    return None if answer is ABSENT else answer
