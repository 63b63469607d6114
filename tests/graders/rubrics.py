"""Rubrics and what a careful reader takes their criteria and weights to be: the table by which reading a
rubric is measured. REFUSED: it states weights that cannot be meant, or in another form than ours."""

REFUSED = "refused"
NONE: list[tuple[str, float]] = [("overall", 1)]
AT = [("accuracy", 0.6), ("tone", 0.4)]
ONES = [("accuracy", 1), ("tone", 1)]
THREE_TO_TWO = [("accuracy", 3), ("tone", 2)]

READ: list[tuple[str, list[tuple[str, float]]]] = [
    ("1. Accuracy (weight: 0.6): right?\n2. Tone (weight: 0.4): kind?", AT),
    ("1. Accuracy: is it right? (weight: 0.6)\n2. Tone: is it kind? (weight: 0.4)", AT),
    ("1. Accuracy (WEIGHT: .6)\n2. Tone (Weight: .4)", AT),
    ("1. Accuracy (60%): right?\n2. Tone (40 %): kind?", AT),
    ("1. Accuracy (weight: 60%)\n2. Tone (weight: 40%)", AT),
    ("1) Accuracy (60%)\n2) Tone (40%)", AT),
    ("1. **Accuracy** (60%): right?\n2. **Tone** (40%): kind?", AT),
    ("1. **Accuracy:** right? (60%)\n2. **Tone:** kind? (40%)", AT),
    ("1. **Accuracy (60%)**: right?\n2. **Tone (40%)**: kind?", AT),
    ("1. Accuracy (weight: 0.6) (0-5)\n2. Tone (weight: 0.4) (0-5)", AT),
    ("1. Accuracy (60%)\n   5. right\n   1. wrong\n2. Tone (40%)\n   5. kind\n   1. rude", AT),
    ("1. Accuracy (weight: 3)\n2. Tone (weight: 2)", THREE_TO_TWO),
    ("1. Accuracy\n2. Tone\n\nScale:\n1: poor\n5: excellent", NONE),
    ("1. Accuracy\n2. Tone\n\n1. Poor\n2. Fair\n3. Good", NONE),
    ("1. Accuracy: right?\n2. Tone: kind?", NONE),
    ("1. Accuracy: 95% of the facts are right\n2. Tone: kind?", NONE),
    ("1. Accuracy: the weight of the parcel is right\n2. Tone: kind?", NONE),
    ("1. Accuracy: right? (0-5)\n2. Tone: kind? (0-5)", ONES),
    ("Is it polite?", NONE),
    ("- be accurate\n- be kind", NONE),
    ("5. Excellent\n4. Good\n3. Fair\n2. Weak\n1. Poor", NONE),
    ("1. Poor\n2. Fair\n3. Good\n4. Very good\n5. Excellent", NONE),
    ("5 - excellent\n3 - fair\n1 - poor", NONE),
    ("1. Short\n2. " + "every word of a long demand " * 4, NONE),
    ("1. a\n2. a\n", NONE),
    ("The odds that it states (0.5) have to be right, and told.", NONE),
    ("Is it right? Excellent (5/5), good (4/5) or poor (1/5).", NONE),
]
MISTAKEN = [
    "5. Excellent\n4. Good\n3. Fair\n\n1. Accuracy (60%)\n2. Tone (40%)",
    "1. Accuracy (40%)\n2. Tone (40%)\n3. Form (40%)",
    "1. Accuracy (40%)\n2. Tone (20%)",
    "1. Accuracy (60%)\n2. Tone",
    "1. Accuracy (60%) (weight: 0.5)\n2. Tone (40%)",
    "1. Accuracy (60%)\n2. Tone (weight: 0.4)",
    "1. Accuracy (60%)\n2. Accuracy (40%)",
    "1. (60%)\n2. Tone (40%)",
    "1. Accuracy\n2. Tone\n\nWeights: accuracy 60%, tone 40%",
    "1. Accuracy\n2. Tone\n\n- accuracy (weight high)",
    "Weigh accuracy at 60% and tone at 40%.",
]
OTHER_WEIGHTS = (
    *("(weight 0.6)", "(weight=0.6)", "(weight = 0.6)", "[weight: 0.6]", "{weight: 0.6}", "(w: 3)"),
    *("(weight: high)", "(weight: -1)", "(weight: 0,6)", "(weight: 3/5)", "(high weight)", "(60% weight)"),
    *("[60%]", "(60 percent)", "(60%, 0-5)", "(60 points)", "(60 pts)", "(worth 60%)", "(60% of the total)"),
    *("(x3)", "(0.6)", "[.6]: right?", "(60/100)", "— 60 %", "- 60%", ": 60%"),
    *(", weight 0.6", "weight=2", "\n   - weight: 0.6", "| weight 60%"),
)
"""Spellings of a weight that are reported with their line, behind a number and behind a bullet."""

OTHER_LISTS = [
    "- Accuracy (60%): right?\n- Tone (40%): kind?",
    "* **Accuracy** (weight: 0.6)\n* **Tone** (weight: 0.4)",
    "1. Read it.\n2. Score it.\n\n- Accuracy (60%)\n- Tone (40%)",
    "1. 60% Accuracy: is it right?\n2. 40% Tone: is it kind?",
    "## Accuracy (60%)\nIs it right?\n\n## Tone (40%)\nIs it kind?",
    "# Rubric\n## 1. Accuracy (60%)\n## 2. Tone (40%)",
    "Accuracy (60%): right?\nTone (40%): kind?",
    "| Criterion | Weight |\n|---|---|\n| Accuracy | 60% |\n| Tone | 40% |",
    "| Name | Weight (%) |\n|:--|--:|\n| **Accuracy** | 60 |\n| Tone | 40 |",
    "| # | Name | Weight |\n|--|--|--|\n| 1 | Accuracy | 0.6 |\n| 2 | Tone | 0.4 |",
    "| Name | Weight |\n|--|--|\n| Accuracy | high |\n| Tone | low |",
]
RUBRICS: list[tuple[str, object]] = [
    *READ,
    *((text, REFUSED) for text in (*MISTAKEN, *OTHER_LISTS)),
    *(
        (f"{mark} Accuracy {weight}\n{other} Tone {weight}", REFUSED)
        for mark, other in (("1.", "2."), ("-", "-"))
        for weight in OTHER_WEIGHTS
    ),
]
KNOWN_WRONG = {"Weigh accuracy at 60% and tone at 40%.": "read as one rubric without weights"}
