"""How texts are compared by what they say: what each method is for, and what it cannot tell."""

from baselinekit.errors import Problem
from baselinekit.model.baselines import Method, Rules
from baselinekit.model.values import Path

OLD_NAMES = {"lexical": "words"}
"""Names that files may still hold, with what they are called now."""

PURPOSE = {
    "judge": "a model says of each fact whether it is kept",
    "words": "near-verbatim text",
    "embedding": "the same topic; it tells nothing of facts",
}
_CHOICE = "; ".join(f"`method: {name}` ({purpose})" for name, purpose in PURPOSE.items())
SUGGESTION = (
    "texts of a model are worded otherwise from time to time: `--method judge` compares what they say"
)
TOPIC_ONLY = "topic alike; facts not compared (method: embedding). Where facts matter: `method: judge`"


def method_problems(rules: Rules) -> list[Problem]:
    """Texts that are to be compared by what they say, and nobody says how. A field takes the method that is
    stated for the whole."""
    places: list[Path] = []
    if rules.type == "semantic" and rules.method is None:
        places.append(("comparison", "type"))
    if rules.method is None:
        fields = rules.fields.items()
        places += [
            ("comparison", "fields", path, "type")
            for path, rule in fields
            if rule.type == "semantic" and rule.method is None
        ]
    what = "`type: semantic` does not say how texts are compared"
    return [Problem("BK206", what, _CHOICE, at=at) for at in places]


def renamed(rules: Rules) -> list[tuple[Path, str]]:
    """Where an old name stands, with a word about it."""
    stated: list[tuple[Path, Method | None]] = [(("comparison", "method"), rules.method)]
    stated += [(("comparison", "fields", path, "method"), rule.method) for path, rule in rules.fields.items()]
    return [
        (at, f"`method: {name}` is called `{OLD_NAMES[name]}` now")
        for at, name in stated
        if name in OLD_NAMES
    ]
