"""What a new baseline is called: no two recipes have one id, and a clash names what has it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.commands.capture import LONGEST, name_new
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import InvalidInput
from baselinekit.files.languages import dump_yaml
from baselinekit.store.dialects.native import ID
from baselinekit.store.reading import parse_record


def project_in(folder: Path, base_url: str = "") -> Project:
    (folder / "baselines").mkdir(exist_ok=True)
    (folder / "baselinekit.yaml").write_text(f"version: 1\n{f'base_url: {base_url}' if base_url else ''}\n")
    return open_project(Operator(str(folder)))


def request_to(base: str = "", **request: Any) -> dict[str, Any]:
    """The `current:` of a request."""
    return {"input": request, "execution": {"type": "http", **({"base_url": base} if base else {})}}


def named_id(project: Project, id: str, current: dict[str, Any], is_chosen: bool = False) -> str:
    """The id that it gets, written below the project as capture does."""
    draft = parse_record({"id": id, "current": current})
    found = name_new(draft, project, is_chosen)
    Path(project.root, "baselines", f"{found}.yaml").write_text(dump_yaml({"id": found, "current": current}))
    return found


HERE, THERE = "http://127.0.0.1:8000", "https://api.example.com"
MODES = [{"method": "GET", "endpoint": f"/orders?page={page}"} for page in (1, 2, 3)]


def test_name_new_puts_differing_parts_into_the_id(tmp_path: Path) -> None:
    project, post = project_in(tmp_path), {"method": "POST", "endpoint": "/"}
    gets = [
        request_to(HERE, **MODES[0]),
        request_to(HERE, **MODES[1]),
        request_to(THERE, **MODES[0]),
        request_to(HERE, endpoint="/orders", params={"page": 2, "q": "a b"}),
    ]
    ids = [named_id(project, "get", current) for current in gets]
    assert ids == ["get", "get-page-2", "get-api-example-com", "get-page-2-q-a-b"]
    posts = [
        request_to(HERE, **post, json={"operationName": "orders", "query": "{o}"}),
        request_to(HERE, **post, json={"operationName": "users", "query": "{u}"}),
    ]
    ids = [named_id(project, "post", current) for current in posts]
    assert ids == ["post", "post-users"]


def test_name_new_of_other_bodies_appends_a_hash(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    bodies = [
        request_to(HERE, method="POST", endpoint="/search", json={"q": word}) for word in ("a", "b", "c")
    ]
    ids = [named_id(project, "post-search", body) for body in bodies]
    assert ids == ["post-search", "post-search-e17406", "post-search-a472c8"]
    Path(project.root, "baselines", f"{ids[1]}.yaml").unlink()
    assert named_id(project, "post-search", bodies[1]) == ids[1]  # the same again


@pytest.mark.parametrize(
    ("is_chosen", "again"),
    [(False, request_to(HERE, endpoint="/orders")), (True, request_to(endpoint="/orders"))],
)
def test_name_new_of_the_same_request_proposes_refresh(tmp_path: Path, is_chosen: bool, again: Any) -> None:
    project = project_in(tmp_path, HERE)
    named_id(project, "orders", request_to(HERE, endpoint="/orders"))
    with pytest.raises(InvalidInput) as raised:
        named_id(project, "orders", again, is_chosen)
    text = str(raised.value)
    assert "the id 'orders' is taken by the same recipe" in text
    assert text.endswith("baselinekit refresh orders --replay")


def test_name_new_knows_a_request_under_its_longer_id(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    for mode in MODES[:2]:
        named_id(project, "get-orders", request_to(HERE, **mode))
    with pytest.raises(InvalidInput, match="refresh get-orders-page-2 --replay"):
        named_id(project, "get-orders", request_to(HERE, **MODES[1]))


WORDS = st.text("aB1?&=/ é-", max_size=70)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([HERE, THERE]), WORDS, WORDS), max_size=8, unique=True))
def test_name_new_never_gives_one_id_twice(
    tmp_path_factory: pytest.TempPathFactory, many: list[tuple[str, str, str]]
) -> None:
    project = project_in(tmp_path_factory.mktemp("project"))
    requests = [request_to(base, endpoint=f"/o?{query}", json={"q": body}) for base, query, body in many]
    ids = [named_id(project, "get-o", request) for request in requests]
    assert len({id.casefold() for id in ids}) == len(ids)
    assert all(ID.fullmatch(id) and len(id) <= LONGEST for id in ids)
