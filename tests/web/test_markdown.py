"""A text as Markdown: a tree of few tags, in which nothing is markup of its own."""

from typing import Any

import pytest

from baselinekit.web.markdown import part_of


@pytest.mark.parametrize(
    ("value", "form", "nodes"),
    [
        ("plain words\nin two lines", "text", None),
        ("a *b* `c`", "markdown", [["p", "a ", ["em", "b"], " ", ["code", "c"]]]),
        ("# T\n\n- x\n- y", "markdown", [["h1", "T"], ["ul", ["li", ["p", "x"]], ["li", ["p", "y"]]]]),
        ("```py\nx < 1\n```", "markdown", [["pre", "x < 1\n"]]),
        ("**<b>x</b>**", "markdown", [["p", ["strong", "<b>x</b>"]]]),
        ("<script>1</script> *x*", "markdown", [["p", "<script>1</script> ", ["em", "x"]]]),
        ("[x](http://e.test)", "markdown", [["p", ["a", "http://e.test", "x"]]]),
        ("[x](javascript:alert(1)) *y*", "markdown", [["p", "[x](javascript:alert(1)) ", ["em", "y"]]]),
        ("![p](http://e.test/x.png)", "markdown", [["p", "[p](http://e.test/x.png)"]]),
        (
            "|a|\n|-|\n|b|",
            "markdown",
            [["table", ["thead", ["tr", ["th", "a"]]], ["tbody", ["tr", ["td", "b"]]]]],
        ),
        ('{"a": [1]}', "json", [["pre", '{\n  "a": [\n    1\n  ]\n}']]),
        ({"a": 1}, "json", None),
        ({"exit_code": 0, "stdout": "a *b*", "stderr": ""}, "markdown", [["p", "a ", ["em", "b"]]]),
        ({"text": "one"}, "text", None),
    ],
)
def test_part_of_a_value(value: Any, form: str, nodes: Any) -> None:
    part = part_of(value)
    assert part["form"] == form
    assert part.get("nodes") == nodes


def test_part_shows_characters_that_cannot_be_seen() -> None:
    assert part_of("a\u202eb\x1b[31m")["raw"] == "a\\u202eb\\x1b[31m"
