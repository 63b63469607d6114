"""Whatever a server does: the outcome of the baseline that asked, and of no other, in time and in bounded
memory. One run of the real command meets every route."""

import zlib
from pathlib import Path

import pytest
import routes as table
from attacked import attacked
from routes import ROUTES, Route, named

pytestmark = pytest.mark.slow

REASONS = ((table.DRIPS, "within 0.6 s"), (table.REPEATED, "occurs twice"), (table.BAD_JSON, "at byte"))


def test_f18_f19_f20_f21_f27_f52_f53_f56_hostile_answers_end_as_listed(tmp_path: Path) -> None:
    with attacked(tmp_path) as project:
        project.routes(ROUTES)
        ran = project.measured("compare", "--no-record", "--json", "-j", "16")
    results = ran.results
    assert (ran.exit_code, ran.err) == (3, "")
    assert ran.seconds < 30, "the slowest of them may take 0.6 s, and five seconds in all are ample"
    assert ran.megabytes < 300
    assert ran.outcomes == {route.name: (route.outcome, route.code) for route in ROUTES}
    reasons = {id: result["reason"] or "" for id, result in results.items()}
    for routes, words in REASONS:
        assert [one.name for one in routes if one.code and words not in reasons[one.name]] == [], words
    assert not [reason for reason in reasons.values() if "Error" in reason and "-3" not in reason]


@pytest.mark.parametrize("wbits", [31, 15, -15])
def test_bomb_unpacks_to_its_content(wbits: int) -> None:
    """It is refused for its size, and for nothing else."""
    assert zlib.decompress(table.bomb(3, wbits), wbits) == bytes(3_000_000)


CONTAINERS = b"[%b]" % b",".join([b"[]"] * 3_300_000)


def test_f19_f20_answers_beyond_the_limits_take_little_memory(tmp_path: Path) -> None:
    assert len(CONTAINERS) < 10_000_000
    routes = [named(name) for name in ("gzip-bomb", "raw-deflate-bomb", "endless-body")]
    routes.append(Route("brackets", table.as_json(CONTAINERS), "BK305"))
    with attacked(tmp_path) as project:
        project.routes(routes)
        ran = project.measured("compare", "--no-record", "--json", "-j", "1")
    assert ran.outcomes == {route.name: ("error", "BK305") for route in routes}
    assert ran.megabytes < 120


RECORDS = b"[%b]" % b",".join(b'{"id": %d, "name": "user %d", "on": true}' % (n, n) for n in range(200_000))


def test_f20_large_answers_below_the_limits_are_compared(tmp_path: Path) -> None:
    assert 9_500_000 < len(RECORDS) < 10_000_000
    brackets_in_a_text = table.as_json(b'["%b"]' % (b"[{" * 1_000_000))
    with attacked(tmp_path) as project:
        project.routes(
            [
                Route("rows", table.as_json(RECORDS), "", {"status": 200, "body": "<<any_array>>"}),
                Route("text", brackets_in_a_text, "", {"status": 200, "body": ["<<any_string>>"]}),
            ]
        )
        ran = project.measured("compare", "--no-record", "--json", "-j", "1")
    assert ran.outcomes == {"rows": ("passed", ""), "text": ("passed", "")}
    assert ran.megabytes < 300


def test_f18_command_ends_soon_after_the_deadline(tmp_path: Path) -> None:
    names = ("head-drip", "body-drip", "silence")
    with attacked(tmp_path) as project:
        project.routes(map(named, names))
        ran = project.measured("compare", "--no-record", "--json")
    assert (ran.exit_code, ran.outcomes) == (3, dict.fromkeys(names, ("error", "BK303")))
    assert ran.seconds < 7, "the deadline is 0.6 s; the server would keep the connections for eight"
