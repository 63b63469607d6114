"""The demo skills, which need no model and give the same output for the same input: a small reviewer, and one
that reverses texts."""

import re
from typing import Any

_RULES = (
    (
        r"\blet\b",
        "Consider using `const` instead of `let` since this value is never reassigned",
        "specificity",
    ),
    (r"console\.log", "Remove the debugging output before merging", "actionability"),
    (r"==(?!=)", "Use `===`: this comparison converts types", "correctness"),
    (r"\bTODO\b", "Turn the note into an issue, or do it now", "tone"),
)


def review(inputs: dict[str, Any], depth: str = "quick") -> dict[str, Any]:
    """Comments on the added lines of `code_diff`, and a score from 0 to 5 for each of four qualities."""
    added = [line[1:] for line in str(inputs["code_diff"]).splitlines() if re.match(r"\+(?!\+\+)", line)]
    comments = []
    scores = {"specificity": 4.2, "actionability": 4.5, "correctness": 4.8, "tone": 4.6}
    for pattern, comment, quality in _RULES:
        hits = sum(bool(re.search(pattern, line)) for line in added)
        if hits:
            comments.append(comment)
            scores[quality] = round(scores[quality] - 0.1 * hits, 2)
    if depth == "thorough" and len(added) > 50:
        comments.append("This change exceeds 50 lines; consider splitting it")
    return {"quality_scores": scores, "sample_comments": comments}


def reverse(text: str) -> str:
    """Reverse a text."""
    return text[::-1]
