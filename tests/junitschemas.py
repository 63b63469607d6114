"""What the two common schemas of JUnit XML allow, as tables: the one of Jenkins (its xUnit plugin's junit-10)
and the one of Ant's JUnit task (JUnit.xsd), which most validators take for the standard."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

ANY, TOKEN, SOME, INT, DECIMAL = "(?s:.*)", "(?s:.*)", "(?s:.+)", r"-?\d+", r"-?\d+(\.\d*)?"
_TIME = r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?"
_WITHOUT_ZONE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


@dataclass(frozen=True)
class JunitElement:
    """`children`: their names, each followed by a blank, as an expression; `text`: whether it holds text."""

    required: dict[str, str]
    optional: dict[str, str]
    children: str = ""
    text: bool = False


_SAID = {"type": ANY, "message": ANY}
_PROPERTY = JunitElement({"name": SOME, "value": ANY}, {})
_PROPERTIES = JunitElement({}, {}, "(property )*")
_OUTPUT = JunitElement({}, {}, text=True)
JENKINS = {
    "testsuites": JunitElement(
        {}, {"name": ANY, "time": _TIME, "tests": ANY, "failures": ANY, "errors": ANY}, "(testsuite )*"
    ),
    "testsuite": JunitElement(
        dict.fromkeys(("name", "tests", "failures", "errors"), ANY),
        {"time": _TIME}
        | dict.fromkeys(
            ("group", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"), ANY
        ),
        "((testsuite|properties|testcase|system-out|system-err) )*",
    ),
    "properties": _PROPERTIES,
    "property": _PROPERTY,
    "testcase": JunitElement(
        {"name": ANY},
        {"time": ANY, "classname": ANY, "group": ANY},
        "((skipped|error|failure|rerunFailure|rerunError|flakyFailure|flakyError|system-out|system-err) )*",
    ),
    **dict.fromkeys(("failure", "error", "skipped"), JunitElement({}, _SAID, text=True)),
    **dict.fromkeys(("system-out", "system-err"), _OUTPUT),
}
ANT = {
    "testsuites": JunitElement({}, {}, "(testsuite )*"),
    "testsuite": JunitElement(
        {
            "name": SOME,
            "hostname": SOME,
            "package": TOKEN,
            "id": INT,
            "timestamp": _WITHOUT_ZONE,
            "tests": INT,
            "failures": INT,
            "errors": INT,
            "time": DECIMAL,
        },
        {"skipped": INT},
        "properties (testcase )*system-out system-err ",
    ),
    "properties": _PROPERTIES,
    "property": _PROPERTY,
    "testcase": JunitElement(
        {"name": TOKEN, "classname": TOKEN, "time": DECIMAL}, {}, "((skipped|error|failure) )?"
    ),
    **dict.fromkeys(("failure", "error"), JunitElement({"type": ANY}, {"message": ANY}, text=True)),
    "skipped": JunitElement({}, _SAID, "(.+ )*", text=True),  # it may hold anything
    **dict.fromkeys(("system-out", "system-err"), _OUTPUT),
}
SCHEMAS = {"jenkins": JENKINS, "ant": ANT}


def invalid(root: Element, schema: dict[str, JunitElement]) -> Iterator[str]:
    """What does not follow the schema."""
    for element in root.iter():
        known = schema.get(element.tag)
        if known is None:
            yield f"{element.tag} is unknown"
            continue
        allowed = known.required | known.optional
        yield from (f"{element.tag} lacks {name}" for name in known.required if name not in element.attrib)
        for name, value in element.attrib.items():
            if name not in allowed or not re.fullmatch(allowed[name], value):
                yield f"{element.tag}: {name}={value!r}"
        held = "".join(f"{child.tag} " for child in element)
        if not re.fullmatch(known.children, held):
            yield f"{element.tag} holds {held}"
        if not known.text and (element.text or "").strip():
            yield f"{element.tag} holds text"
