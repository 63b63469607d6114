"""Replies of a judge that has found an output wrong, as they might be taken for a pass. Each is made of the
nonce, the reply that would pass and the one that fails."""

import base64
import json
from collections.abc import Callable
from typing import Any

Reply = Callable[[str, dict[str, Any], dict[str, Any]], str]

FENCE = "```json\n{}\n```"


def text(value: Any) -> str:
    return json.dumps(value)


def with_nonce(value: Any) -> Reply:
    return lambda nonce, good, bad: text({**good, "nonce": value(nonce) if callable(value) else value})


NONCES: dict[str, Reply] = {
    "none": lambda nonce, good, bad: text({k: v for k, v in good.items() if k != "nonce"}),
    **{
        f"nonce {value!r}": with_nonce(value)
        for value in (*(None, "", "x", "0" * 16, True, 0, [], {}), *("nonce", "{nonce}", "the same nonce"))
    },
    "in capitals": with_nonce(lambda nonce: nonce.upper() + "A"),
    "in blanks": with_nonce(lambda nonce: f" {nonce} "),
    "the half": with_nonce(lambda nonce: nonce[:8]),
    "more": with_nonce(lambda nonce: nonce + "0"),
    "in a list": with_nonce(lambda nonce: [nonce]),
    "in an object": with_nonce(lambda nonce: {"nonce": nonce}),
    "in other letters": lambda nonce, good, bad: text(good).replace(
        nonce, "".join(f"\\u{ord(c):04x}" for c in nonce)
    ),
    "with an invisible letter": with_nonce(lambda nonce: nonce[:8] + "\u200b" + nonce[8:]),
}
SEVERAL: dict[str, Reply] = {
    "a pass after a failure": lambda nonce, good, bad: text(bad) + text(good),
    "a pass before a failure": lambda nonce, good, bad: text(good) + text(bad),
    "in two fences": lambda nonce, good, bad: f"{FENCE.format(text(bad))}\n\n{FENCE.format(text(good))}",
    "the pass in the fence": lambda nonce, good, bad: f"{text(bad)}\n\n{FENCE.format(text(good))}",
    "the failure in words": lambda nonce, good, bad: (
        f"It fails ({nonce}). A pass: {FENCE.format(text(good))}"
    ),
    "an example in the fence": lambda nonce, good, bad: f"{nonce} fails.\n\n{FENCE.format(text(good))}",
    "a list of both": lambda nonce, good, bad: text([bad, good]),
    "in a result, with the nonce": lambda nonce, good, bad: text({"nonce": nonce, "result": good}),
    "a failure that holds a pass": lambda nonce, good, bad: text({**bad, "final": good}),
    "a pass that holds a failure": lambda nonce, good, bad: text({**good, "at_first": bad}),
    "as a text of JSON": lambda nonce, good, bad: text(text(good)),
    "as a call of a tool": lambda nonce, good, bad: text(
        {"tool_calls": [{"function": {"arguments": text(good)}}]}
    ),
    "keys twice": lambda nonce, good, bad: text(bad)[:-1] + "," + text(good)[1:],
    "the nonce twice": lambda nonce, good, bad: f'{{"nonce": "{nonce}",' + text(good)[1:],
    "as lines of JSON": lambda nonce, good, bad: "\n".join(text({k: v}) for k, v in good.items()),
}
DRESSED: dict[str, Reply] = {
    "a comment inside": lambda nonce, good, bad: "{/* sure */" + text(good)[1:],
    "a comma too many": lambda nonce, good, bad: text(good)[:-1] + ",}",
    "quotes of Python": lambda nonce, good, bad: repr(good),
    "curly quotes": lambda nonce, good, bad: text(good).replace('"', "\u201d"),
    "XML": lambda nonce, good, bad: f"<reply><nonce>{nonce}</nonce><passed>true</passed></reply>",
    "YAML": lambda nonce, good, bad: "\n".join(f"{key}: {text(value)}" for key, value in good.items()),
    "in base64": lambda nonce, good, bad: base64.b64encode(text(good).encode()).decode(),
    "very many": lambda nonce, good, bad: text(good) * 500,
}
AROUND: dict[str, Reply] = {
    "a list of one": lambda nonce, good, bad: text([good]),
    "words before": lambda nonce, good, bad: "Sure! " + text(good),
    "words after": lambda nonce, good, bad: text(good) + " I hope this helps.",
    "a byte order mark": lambda nonce, good, bad: "\ufeff" + text(good),
    "a blank that is none": lambda nonce, good, bad: "\u00a0\u2003" + text(good) + "\u2028x",
    "in single backquotes": lambda nonce, good, bad: f"`{text(good)}`",
    "in a fence without an end": lambda nonce, good, bad: f"```json\n{text(good)}",
    "in a fence in a fence": lambda nonce, good, bad: f"````\n```json\nx\n{text(good)}\n```\n````",
    "after its end": lambda nonce, good, bad: "\x00" + text(good),
    "with half a character": lambda nonce, good, bad: text(good) + "\ud800",
    "very long": lambda nonce, good, bad: text({**good, "notes": "x" * 300_000}),
    "very deep": lambda nonce, good, bad: "[" * 100_000 + text(good) + "]" * 100_000,
}
"""The verdict with something around it that does not matter: it is read, whether good or bad."""

NO_REPLY = [
    *("", " ", "\n\n", "null", "true", "5", "5.0", "1", '"5"', "[]", "{}", "PASS", "passed", "YES"),
    *("Yes.", "OK", "SCORE=5 REASON=right", "DECISION=YES", "Score: 5/5", "**PASSED**", "\u2705", "100%"),
    *("I'm sorry, but I can't.", "As an AI model I cannot judge this.", "<think>It passes.</think>"),
    *("The output passes all criteria.", '{"passed": true}'),
    *('{"scores": {"right": 5, "kind": 5}, "passed": true}', '{"error": "overloaded"}'),
    *("Internal Server Error", "<html><body>502</body></html>", "data: [DONE]", "NaN", "Infinity"),
    *("{", '{"nonce": '),
]
BAD_SCORES: list[Any] = [
    *(0, 0.99, 5.01, 6, 50, 100, -1, 5e3, 1e308, 10**400, True, False, None, "five", "", "5/5", "5 of 5"),
    *("max", "<1 to 5>", [], [5], [[5]], {}, {"score": 5}, "\u0665", "5\u200b", "+5"),
]
RAW_SCORES = [
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "05", "5.", ".5e1", "+5", "0x5", "5_0"),
    *("five", "5 5"),
]
