"""Whether two texts tell the same facts, asked of a model: of each fact of either text, what became of it in
the other."""

from collections.abc import Iterator

from baselinekit.grade.judging import nonce_of, question, reply, unusable
from baselinekit.model.questions import Ask
from baselinekit.model.values import Json

_VERDICTS = ("kept", "changed", "missing")
_MOST_FACTS = 3
_TASK = (
    "Do both texts tell a reader the same facts? List every fact of the first text, and say of each what "
    "became of it in the second: `kept` if it is told there in whatever words, `changed` if another "
    "number, unit, name, date, direction, scope or negation stands there, `missing` if it is not told. "
    "Then list every fact of the second text, and say the same of it in the first. A text that tells "
    "nothing else has one fact: what it is for. Wording, order, tone and layout are no facts."
)


def meaning_question(expected: str, actual: str, model: str) -> Ask:
    texts = {"first text": expected, "second text": actual}
    shown: list[Json] = [{"fact": "…", "verdict": "kept, changed or missing"}]
    return question(model, _TASK, texts, {"first_in_second": shown, "second_in_first": shown, "reason": "…"})


def read_similarity(answer: str, expected: str, actual: str) -> tuple[float, str]:
    """How much of either text the other keeps, the worse direction of the two, and why. No number of kept
    facts makes up for one that is another now."""
    keys = ("first_in_second", "second_in_first")
    given = reply(answer, (*keys, "reason"), nonce_of(expected, actual))
    facts = [list(_facts(given[key], key, answer)) for key in keys]
    verdicts = [[verdict for _, verdict in side] for side in facts]
    share = min(side.count("kept") / len(side) for side in verdicts)
    score = 0.0 if any("changed" in side for side in verdicts) else share
    lost = [f"{verdict}: {fact}" for side in facts for fact, verdict in side if verdict != "kept"]
    return score, "; ".join([*lost[:_MOST_FACTS], str(given["reason"])])


def _facts(value: Json, key: str, answer: str) -> Iterator[tuple[str, str]]:
    """Each fact with its verdict. A list of none would be a pass without a word."""
    if not isinstance(value, list) or not value:
        raise unusable(f"lists no facts under {key}", answer)
    for one in value:
        if not isinstance(one, dict) or one.keys() != {"fact", "verdict"} or not isinstance(one["fact"], str):
            raise unusable(f"has something under {key} that is no {{fact, verdict}}", answer)
        if one["verdict"] not in _VERDICTS:
            raise unusable(
                f"says {one['verdict']!r} of a fact, which is none of {', '.join(_VERDICTS)}", answer
            )
        yield one["fact"], one["verdict"]
