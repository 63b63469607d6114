"""`@pytest.mark.model_calls` in projects of their own, against a service on a free port: what is asked, what
is written, what fails and how it is told."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from answering import Answering
from warmpytest import WarmPytest

from baselinekit.documents import libyaml
from baselinekit.pytest_plugin import model_calls

pytestmark = pytest.mark.slow

KEPT = (httpx, libyaml, model_calls)
"""What an inner run imports for the first time is imported once more in the next one: not these."""


FILE = "cassettes/chat.yaml"
TEST = """\
import httpx
import pytest

URL = "{url}"


@pytest.mark.model_calls("cassettes/chat.yaml")
def test_chat():
    asked = {{"model": "m", "messages": [{{"role": "user", "content": "{prompt}"}}]}}
    answer = httpx.post(f"{{URL}}/v1/chat/completions", json=asked)
    assert answer.json()["choices"][0]["message"]["content"].startswith("answer")
"""


@pytest.fixture
def service() -> Iterator[Answering]:
    with Answering() as started:
        yield started


@contextmanager
def in_ci() -> Iterator[None]:
    os.environ["CI"] = "true"
    try:
        yield
    finally:
        del os.environ["CI"]


def write(pytester: pytest.Pytester, service: Answering, text: str = TEST, **values: str) -> None:
    pytester.makepyfile(test_chat=text.format(**{"url": service.url, "prompt": "Hello"} | values))


def run(pytester: pytest.Pytester, *words: str, **outcomes: int) -> pytest.RunResult:
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)
    result.assert_outcomes(**outcomes)
    return result


def stored(pytester: pytest.Pytester) -> str:
    return (pytester.path / FILE).read_text(encoding="utf-8")


def test_the_first_run_asks_and_the_others_are_answered_from_the_file(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service)
    run(pytester, passed=1).stdout.fnmatch_lines(["1 call recorded: cassettes/chat.yaml"])
    assert len(service.asked) == 1
    before = stored(pytester)
    assert "  test_chat.py::test_chat:\n" in before
    assert "content: Hello\n" in before
    assert "recorded" not in run(pytester, passed=1).stdout.str()
    with in_ci():
        run(pytester, passed=1)
    assert (len(service.asked), stored(pytester)) == (1, before)


def test_in_ci_nothing_is_asked_and_what_differs_is_told(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service)
    with in_ci():
        result = run(pytester, failed=1)
        result.stdout.fnmatch_lines(
            [
                "BK630 POST *:*/v1/chat/completions is not recorded: cassettes/chat.yaml holds no call yet",
                "record it: pytest test_chat.py::test_chat --baseline-update=new",
            ]
        )
        run(pytester, "--baseline-update=new", passed=1)
        write(pytester, service, prompt="Hello?")
        run(pytester, failed=1).stdout.fnmatch_lines(
            [
                "BK630 POST *: it differs from the nearest recorded call",
                "",
                "  body.messages[[]0].content",
                '    - "Hello"',
                '    + "Hello?"',
                "",
                "record it: pytest test_chat.py::test_chat --baseline-update=changed",
            ]
        )
    assert len(service.asked) == 1


def test_what_changed_is_told_at_a_desk_as_well_and_recorded_by_an_update(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service)
    run(pytester, passed=1)
    write(pytester, service, prompt="Hello?")
    run(pytester, failed=1)
    assert len(service.asked) == 1
    run(pytester, "--baseline-update=changed", passed=1).stdout.fnmatch_lines(
        ["1 call recorded: *", "1 recorded call removed, which no test makes any more: *"]
    )
    assert "content: Hello?\n" in stored(pytester)
    assert "content: Hello\n" not in stored(pytester)
    with in_ci():
        run(pytester, passed=1)
    run(pytester, "--baseline-update", passed=1)
    assert len(service.asked) == 3
    assert "answer 3" in stored(pytester)


SWALLOWS = """\
import httpx
import pytest

pytestmark = pytest.mark.model_calls("cassettes/chat.yaml")

def test_chat():
    try:
        httpx.get("{url}/plain")
    except BaseException:
        pass
"""


def test_a_miss_fails_the_test_whoever_catches_it(pytester: pytest.Pytester, service: Answering) -> None:
    write(pytester, service, SWALLOWS)
    with in_ci():
        run(pytester, failed=1).stdout.fnmatch_lines(["BK630 GET */plain is not recorded: *"])
        write(pytester, service, SWALLOWS.replace("pass\n", "raise ValueError('told') from None\n"))
        run(pytester, failed=1).stdout.fnmatch_lines(
            ["E * ValueError: told", "*calls that are not recorded*", "BK630 GET */plain is not recorded: *"]
        )


FAILS = """\
import httpx
import pytest

@pytest.mark.model_calls("cassettes/chat.yaml")
def test_chat():
    httpx.get("{url}/plain")
    httpx.get("{url}/denied")
    assert {passes}
"""


def test_a_failing_test_keeps_what_was_answered_and_no_refusals(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service, FAILS, passes="False")
    result = run(pytester, failed=1)
    result.stdout.fnmatch_lines(
        [
            "1 call recorded: *",
            "1 answer not recorded (status 401), since the test failed: test_chat.py::test_chat",
        ]
    )
    run(pytester, failed=1)
    assert service.asked == ["GET /plain", "GET /denied", "GET /denied"]
    write(pytester, service, FAILS, passes="True")
    run(pytester, passed=1)
    run(pytester, passed=1)
    assert len(service.asked) == 4


FIXTURES = """\
import httpx
import pytest

@pytest.fixture(scope="module")
def shared():
    assert httpx.get("{url}/plain?shared").status_code == 200
    yield
    assert httpx.get("{url}/plain?shared-end").status_code == 200

@pytest.fixture(autouse=True)
def own():
    assert httpx.get("{url}/plain?own").status_code == 200
    yield
    assert httpx.get("{url}/plain?own-end").status_code == 200

@pytest.mark.model_calls("cassettes/chat.yaml")
def test_chat(shared):
    assert httpx.get("{url}/plain?test").status_code == 200

def test_without():
    assert httpx.get("{url}/plain?without").status_code == 200
"""


def test_what_is_set_up_for_other_tests_too_is_no_call_of_this_one(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service, FIXTURES)
    run(pytester, passed=2)
    once = [one.partition("?")[2] for one in service.asked]
    service.asked.clear()
    run(pytester, passed=2)
    assert once == ["shared", "own", "test", "own-end", "own", "without", "own-end", "shared-end"]
    assert [one.partition("?")[2] for one in service.asked] == ["shared", *once[4:]]


FOLDER = """\
import httpx
import pytest

class TestChat:
    @pytest.mark.model_calls{place}
    @pytest.mark.parametrize("n", [1, 2])
    def test_it(self, n):
        assert httpx.get("{url}/plain", params={{"n": n}}).status_code == 200
"""


@pytest.mark.parametrize(
    ("place", "folder"), [("", "cassettes"), ('("calls/of/models/")', "calls/of/models")]
)
def test_a_folder_has_a_file_for_each_test(
    pytester: pytest.Pytester, service: Answering, place: str, folder: str
) -> None:
    write(pytester, service, FOLDER, place=place)
    run(pytester, passed=2).stdout.fnmatch_lines(["2 calls recorded:"])
    names = sorted(path.name for path in (pytester.path / folder / "test_chat").iterdir())
    assert names == ["TestChat.test_it-1.yaml", "TestChat.test_it-2.yaml"]
    with in_ci():
        run(pytester, passed=2)


MANY = """\
import asyncio

import httpx
import pytest

pytestmark = pytest.mark.model_calls("cassettes/chat.yaml")

@pytest.mark.parametrize("n", range(12))
def test_it(n):
    async def ask():
        async with httpx.AsyncClient() as client:
            calls = [client.get("{url}/plain", params={{"n": n, "m": m}}) for m in range(3)]
            return await asyncio.gather(*calls)
    assert len(asyncio.run(ask())) == 3
"""


def test_tests_of_several_workers_share_a_file(
    pytester: pytest.Pytester, pytests: WarmPytest, service: Answering
) -> None:
    write(pytester, service, MANY)
    words = "-n", "2", "-p", "no:cacheprovider"
    code, said = pytests.run(pytester.path, *words, env=os.environ)
    assert (code, said.count("= 12 passed")) == (0, 1), said
    assert "\n36 calls recorded: cassettes/chat.yaml\n" in said
    assert stored(pytester).count("request:") == 36
    times = len(service.asked)
    run(pytester, passed=12)
    code, said = pytests.run(pytester.path, *words, env=os.environ)
    assert (code, said.count("= 12 passed")) == (0, 1), said
    assert len(service.asked) == times


def test_recorded_calls_that_a_test_does_not_make_any_more_are_told(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service, FAILS, passes="True")
    run(pytester, passed=1)
    write(pytester, service, FAILS.replace('    httpx.get("{url}/denied")\n', ""), passes="True")
    run(pytester, passed=1).stdout.fnmatch_lines(
        [
            "1 recorded call not made by its test: cassettes/chat.yaml",
            "  they go with: pytest test_chat.py::test_chat --baseline-update=changed",
        ]
    )
    run(pytester, "--baseline-update=changed", passed=1)
    assert "denied" not in stored(pytester)


RENAMED = """\
import httpx
import pytest

pytestmark = pytest.mark.model_calls("cassettes/chat.yaml")

def test_chat():
    assert httpx.get("{url}/plain").status_code == 200

def test_{name}():
    assert httpx.get("{url}/plain").status_code == 200
"""


def test_the_calls_of_tests_that_are_gone_are_removed_by_a_run_of_everything(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service, RENAMED, name="old")
    run(pytester, passed=2)
    write(pytester, service, RENAMED, name="new")
    assert "that is gone" not in run(pytester, "-k", "new", passed=1, deselected=1).stdout.str()
    calls = "the recorded calls of 1 test that is gone"
    told = f"cassettes/chat.yaml holds {calls} (to remove: pytest --baseline-prune)"
    run(pytester, passed=2).stdout.fnmatch_lines([told])
    run(pytester, "-k", "new", "--baseline-prune", passed=1, deselected=1)
    assert "test_old" in stored(pytester)
    run(pytester, "--baseline-prune", passed=2).stdout.fnmatch_lines(
        [f"cassettes/chat.yaml: {calls} were removed"]
    )
    assert "test_old" not in stored(pytester)
    assert stored(pytester).count("request:") == 2
    with in_ci():
        run(pytester, passed=2)


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        (
            '("x.yaml", ignores=["a"])',
            "BK632 @pytest.mark.model_calls has no argument 'ignores': did you mean 'ignore'?",
        ),
        ('("a", "b")', "BK632 @pytest.mark.model_calls takes one name, of a file or a folder: *"),
        ("(7)", "BK632 @pytest.mark.model_calls takes one name, *"),
        ('("x.yaml", headers=7)', "BK632 @pytest.mark.model_calls: headers takes texts: *"),
        ('("x.yaml", ignore=["body["])', "BK2*"),
        ('("../x.yaml")', "BK4*"),
        ('("baselines/x.yaml")', "BK632 baselines/x.yaml would stand among the baselines in baselines/: *"),
    ],
)
def test_a_mark_that_cannot_be_used_is_told(
    pytester: pytest.Pytester, service: Answering, mark: str, told: str
) -> None:
    write(pytester, service, TEST.replace('("cassettes/chat.yaml")', mark))
    result = pytester.runpytest_inprocess()
    result.stdout.fnmatch_lines([told])
    assert "Traceback" not in result.stdout.str()
    assert "model_calls.py" not in result.stdout.str()
    assert service.asked == []


def test_a_file_that_is_no_cassette_is_told_and_left_alone(
    pytester: pytest.Pytester, service: Answering
) -> None:
    write(pytester, service)
    (pytester.path / "cassettes").mkdir()
    (pytester.path / FILE).write_text("interactions: []\nversion: 1\n", encoding="utf-8")
    run(pytester, failed=1).stdout.fnmatch_lines(["BK631 cassettes/chat.yaml: this is no cassette: *"])
    assert stored(pytester) == "interactions: []\nversion: 1\n"
    assert service.asked == []


def test_secrets_of_the_project_and_of_the_environment_are_masked(
    pytester: pytest.Pytester, service: Answering
) -> None:
    key, declared = "env-9f8e7d6c5b4a", "declared-1a2b3c4d"
    (pytester.path / "baselinekit.yaml").write_text(
        "version: 1\nvariables:\n  shop: {from_env: SHOP, secret: true}\n", encoding="utf-8"
    )
    own: dict[str, Any] = {"MY_API_KEY": key, "SHOP": declared}
    os.environ.update(own)
    try:
        write(pytester, service, prompt=f"{key} and {declared}")
        run(pytester, passed=1)
        assert key not in stored(pytester)
        assert declared not in stored(pytester)
        assert "content: '*** and ***'" in stored(pytester) or 'content: "*** and ***"' in stored(pytester)
        run(pytester, passed=1)
    finally:
        for name in own:
            del os.environ[name]
    with in_ci():
        run(pytester, passed=1)  # where nobody knows the secrets
    assert len(service.asked) == 1


def test_a_run_without_the_mark_loads_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it():
            assert not {one for one in sys.modules if one.startswith("baselinekit.pytest_plugin.model")}
            assert not {"httpx", "requests"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


NOT_COVERED = """\
import http.client
import urllib.error
import urllib.request

import pytest


@pytest.mark.model_calls("cassettes/chat.yaml"{more})
def test_urllib():
    try:
        urllib.request.urlopen("{url}/v1/models?key=hush", timeout=5).close()
    except urllib.error.HTTPError as error:
        error.close()


@pytest.mark.model_calls("cassettes/chat.yaml"{more})
def test_client():
    connection = http.client.HTTPConnection("{host}", timeout=5)
    try:
        connection.request("POST", "/v1/models", "hush")
    except Exception:  # a failure is no Exception
        pass
    connection.getresponse().read()
    connection.close()
"""


def test_model_calls_with_urllib_refuses_the_call(pytester: pytest.Pytester, service: Answering) -> None:
    host = service.url.removeprefix("http://")
    write(pytester, service, NOT_COVERED, host=host, more="")
    result = run(pytester, failed=2)
    for method in ("GET", "POST"):
        result.stdout.fnmatch_lines([f"BK632 a {method} to {service.url} through http.client*{host}*"])
    assert service.asked == []
    write(pytester, service, NOT_COVERED, host=host, more=f", pass_through=['{host}']")
    run(pytester, passed=2)
    assert len(service.asked) == 2


AIOHTTP = """\
import asyncio

import aiohttp.client
import pytest


@pytest.mark.model_calls("cassettes/chat.yaml")
def test_aiohttp():
    asyncio.run(aiohttp.client.ClientSession().get("https://user:pass@api.example/v1/models"))
"""
SESSION = """\
class ClientSession:
    async def _request(self, method, url):
        raise OSError("sent")

    async def get(self, url):
        return await self._request("GET", url)
"""


def test_model_calls_with_aiohttp_refuses_the_call(pytester: pytest.Pytester, service: Answering) -> None:
    """aiohttp is not installed here: a package of its name has what its calls go through."""
    (pytester.path / "aiohttp").mkdir()
    (pytester.path / "aiohttp" / "__init__.py").write_text("", encoding="utf-8")
    (pytester.path / "aiohttp" / "client.py").write_text(SESSION, encoding="utf-8")
    write(pytester, service, AIOHTTP)
    result = run(pytester, failed=1)
    result.stdout.fnmatch_lines(["BK632 a GET to https://api.example through aiohttp*"])
