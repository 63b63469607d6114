"""JSON in what a model wrote: bare, or in one fenced block between its words."""

import re

from baselinekit.documents.strictjson import NotJson, decode
from baselinekit.model.values import ABSENT, Json

_FENCED = re.compile(r"^[ \t]*```[a-zA-Z]*[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


def json_in(text: str) -> Json:
    """The JSON that a text is, or the one fenced block of it that is JSON; ABSENT if there is none, or more
    than one: nobody could say which is meant."""
    found = []
    for candidate in (text, *_FENCED.findall(text)):
        try:
            found.append(decode(candidate.strip()))
        except NotJson:
            continue
    return found[0] if len(found) == 1 else ABSENT
