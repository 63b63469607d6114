"""What of a response a structural match is about, from the case to the result."""

from pathlib import Path
from typing import Any

import pytest
from evalcases import World

from baselinekit.graders.by_matcher import StructuralMatch
from baselinekit.kinds.http import HttpExecution
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import HttpRequest, Recipe, Request, Response

REQUEST = Recipe(HttpRequest(url="http://127.0.0.1:9/u"), HttpExecution("http"))


class Service(World):
    def send(self, request: Request) -> Response:
        headers = (("content-type", "application/json"),)
        return Response(200, headers, b'{"id": 7, "name": "Ada", "tags": ["a"]}', 0.01)


@pytest.mark.parametrize(
    ("value", "how", "outcome"),
    [
        ({"status": 200}, {}, "passed"),
        ({"status": 404}, {}, "failed"),
        ({"body": {"id": 7, "name": "Ada", "tags": ["a"]}}, {}, "passed"),
        ({"id": "<<any_integer>>", "name": "Ada", "tags": ["a"]}, {}, "passed"),
        ({"id": "<<any_integer>>", "name": "Bea", "tags": ["a"]}, {}, "failed"),
        ({"name": "Ada"}, {}, "failed"),
        ({"name": "Ada"}, {"strict": True}, "failed"),
        ({"name": "Ada"}, {"strict": False}, "passed"),
        ({"id": 8, "name": "Ada", "tags": ["a"]}, {"ignore_fields": ["id"]}, "passed"),
        (["a"], {"of": "tags"}, "passed"),
        (["b"], {"of": "tags"}, "failed"),
        (200, {"of": "status"}, "passed"),
        ("Ada", {"of": "$.body.name"}, "passed"),
        ("Ada", {"of": "nme"}, "failed"),
    ],
)
def test_h26_a_structural_match_is_about_the_body_unless_it_speaks_of_the_whole(
    tmp_path: Path, value: Any, how: dict[str, Any], outcome: str
) -> None:
    grader = Grader("g", "code", StructuralMatch(**how))
    made = Case("a", REQUEST, (grader,), expected=Expected("exact", value))
    assert Service(tmp_path).one(made).outcome == outcome
