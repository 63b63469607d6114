"""The form of reply that a judge is asked for, as a value that a fake judge can fill in."""

import json
import re
from typing import Any

FORM = re.compile(r"same nonce: (\{.*\})", re.DOTALL)
PLACE = re.compile(r": (<[^<>]*>)")


def form_in(question: str) -> dict[str, Any]:
    """The form, where a place for a number or a boolean (`<1 to 5>`) is a text."""
    found = FORM.search(question)
    assert found is not None
    form: dict[str, Any] = json.loads(PLACE.sub(r': "\1"', found[1]))
    return form
