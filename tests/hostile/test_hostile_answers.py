"""Whatever a server does: the outcome of the baseline that asked, and of no other, in time and in bounded
memory. One run of the real command meets every route."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import routes as table
from attacked import Attacked, Ran
from routes import ROUTES, Route, named
from server import HostileServer

pytestmark = pytest.mark.slow

MOST_MEGABYTES = 300


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    with HostileServer() as server:
        project = Attacked(tmp_path_factory.mktemp("attacked"), server)
        project.routes(ROUTES)
        yield project.measured("compare", "--no-record", "--json", "-j", "16")


def each(routes: list[Route]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("route", routes, ids=lambda route: route.name)


def holds(ran: Ran, route: Route) -> str:
    """The reason, once outcome and code are as they must be."""
    result = ran.results[route.name]
    reason = result["reason"] or ""
    assert (result["outcome"], result["code"] or "") == (route.outcome, route.code), reason
    assert "Error" not in reason or "-3" in reason, "the words of Python are nobody's"
    return str(reason)


def test_all_of_it_is_one_run_without_a_traceback(ran: Ran) -> None:
    assert ran.exit_code == 3
    assert ran.err == ""
    assert ran.report["summary"]["error"] == sum(route.outcome == "error" for route in ROUTES)
    assert ran.seconds < 30, "the slowest of them may take 0.6 s, and five seconds in all are ample"
    assert ran.megabytes < MOST_MEGABYTES


@each(table.DRIPS)
def test_f18_a_drip_ends_at_the_deadline(ran: Ran, route: Route) -> None:
    assert "within 0.6 s" in holds(ran, route)


@each(table.BOMBS)
def test_f19_a_bomb_is_not_unpacked(ran: Ran, route: Route) -> None:
    holds(ran, route)


@each(table.TOO_MUCH)
def test_f20_what_never_ends_is_ended(ran: Ran, route: Route) -> None:
    holds(ran, route)


@each(table.CUT_SHORT)
def test_f21_what_is_cut_short_is_never_compared(ran: Ran, route: Route) -> None:
    holds(ran, route)


@each(table.LIES)
def test_f21_a_lie_about_the_length_is_an_error(ran: Ran, route: Route) -> None:
    holds(ran, route)


@each(table.NOT_HTTP)
def test_f21_what_is_not_http_is_an_error(ran: Ran, route: Route) -> None:
    holds(ran, route)


@each(table.REPEATED)
def test_f27_a_repeated_key_in_an_answer_is_an_error(ran: Ran, route: Route) -> None:
    reason = holds(ran, route)
    assert not route.code or ("occurs twice" in reason and "at byte" in reason)


@each(table.NUMBERS)
def test_f52_numbers_are_kept_or_refused_and_never_slow(ran: Ran, route: Route) -> None:
    holds(ran, route)


@each(table.BAD_JSON)
def test_f53_json_is_read_strictly(ran: Ran, route: Route) -> None:
    reason = holds(ran, route)
    assert not route.code or "at byte" in reason


@each(table.CHARSETS)
def test_f56_a_charset_is_not_a_codec(ran: Ran, route: Route) -> None:
    holds(ran, route)


@pytest.mark.parametrize("wbits", [31, 15, -15])
def test_a_bomb_is_whole(wbits: int) -> None:
    """It is refused for its size, and for nothing else."""
    assert zlib.decompress(table.bomb(3, wbits), wbits) == bytes(3_000_000)


def alone(folder: Path, route: Route) -> Ran:
    """A route in a process of its own."""
    with HostileServer() as server:
        project = Attacked(folder, server)
        project.routes([route])
        return project.measured("compare", "--no-record", "--json")


@pytest.mark.parametrize("name", ["gzip-bomb", "raw-deflate-bomb"])
def test_f19_memory_stays_as_it_was(tmp_path: Path, name: str) -> None:
    ran = alone(tmp_path, named(name))
    assert ran.outcomes == {name: ("error", "BK305")}
    assert ran.megabytes < 120


def test_f20_an_endless_body_takes_no_more_than_its_limit(tmp_path: Path) -> None:
    ran = alone(tmp_path, named("endless-body"))
    assert ran.outcomes == {"endless-body": ("error", "BK305")}
    assert ran.megabytes < 120


@pytest.mark.parametrize("name", ["head-drip", "body-drip", "silence"])
def test_f18_the_whole_command_ends_in_time(tmp_path: Path, name: str) -> None:
    ran = alone(tmp_path, named(name))
    assert (ran.exit_code, ran.outcomes) == (3, {name: ("error", "BK303")})
    assert ran.seconds < 7, "its deadline is 0.6 s; the server would keep the connection for eight"


RECORDS = b"[%b]" % b",".join(b'{"id": %d, "name": "user %d", "on": true}' % (n, n) for n in range(200_000))
CONTAINERS = b"[%b]" % b",".join([b"[]"] * 3_300_000)


def test_f20_an_ordinary_body_just_below_the_limit_is_compared(tmp_path: Path) -> None:
    assert 9_500_000 < len(RECORDS) < 10_000_000
    ran = alone(tmp_path, Route("rows", table.as_json(RECORDS), "", {"status": 200, "body": "<<any_array>>"}))
    assert ran.outcomes == {"rows": ("passed", "")}
    assert ran.megabytes < MOST_MEGABYTES


def test_f20_a_body_that_is_all_brackets_is_not_unfolded(tmp_path: Path) -> None:
    assert len(CONTAINERS) < 10_000_000
    ran = alone(tmp_path, Route("brackets", table.as_json(CONTAINERS), "BK305"))
    assert ran.outcomes == {"brackets": ("error", "BK305")}
    assert ran.megabytes < 120


def test_f20_brackets_in_a_text_are_only_text(tmp_path: Path) -> None:
    text = b'["%b"]' % (b"[{" * 1_000_000)
    ran = alone(tmp_path, Route("text", table.as_json(text), "", {"status": 200, "body": ["<<any_string>>"]}))
    assert ran.outcomes == {"text": ("passed", "")}
