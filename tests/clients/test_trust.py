"""The operator and the configuration grant; a data file never does (F15, F16, F41)."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.clients.trust import (
    Trust,
    check_inside,
    follow_links,
    host_matches,
    in_ci,
    origin,
    origins_in,
    programs_from_checkout,
    unrestricted_programs,
)
from baselinekit.errors import Refused
from baselinekit.secrets.variables import Secret

TOKEN = ("token", Secret("s3cret-value"))


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://example.com/a?b#c", "http://example.com:80"),
        ("HTTPS://Example.COM:8443", "https://example.com:8443"),
        ("http://[::1]:9000/x", "http://[::1]:9000"),
        ("https://example.com/a b@c\\d", "https://example.com:443"),
        ("http://good.example.evil.example/", "http://good.example.evil.example:80"),
    ],
)
def test_origin_of_url(url: str, where: str) -> None:
    assert origin(url) == where


@pytest.mark.parametrize(
    "url",
    [
        "http://good@evil.example/", "http://user:hunter2@evil.example/", "http://good\\@evil.example/",
        "http://good\\.evil.example/", "http://go\nod.example/", "http://good.example/\r\nHost: evil",
        " http://good.example/", "http://good .example/", "http://good.example:99999/",
        "http://good.example:x/", "http://[::1/", "http:///path", "file:///etc/passwd", "good.example/path",
    ],
)  # fmt: skip
def test_check_request_ambiguous_url_is_refused(url: str) -> None:
    with pytest.raises(Refused) as caught:
        Trust().check_request(url)
    assert caught.value.exit_code == 4
    assert caught.value.problems[0].code == "BK405"
    assert "hunter2" not in str(caught.value)
    assert origins_in([url, 12, None]) == frozenset()


@pytest.mark.parametrize(
    ("where", "allowed", "matches"),
    [
        ("http://example.com:80", "example.com", True),
        ("http://example.com:8080", "example.com", True),
        ("http://example.com:8080", "EXAMPLE.com:8080/", True),
        ("http://example.com:8080", "example.com:80", False),
        ("https://example.com:443", "https://example.com", True),
        ("http://example.com:80", "https://example.com", False),
        ("http://a.example.com:80", "*.example.com", True),
        ("http://a.b.example.com:80", "*.example.com:80", True),
        ("http://example.com:80", "*.example.com", False),
        ("http://evilexample.com:80", "*.example.com", False),
        ("http://evilexample.com:80", "example.com", False),
        ("http://example.com.evil:80", "example.com", False),
        ("http://[::1]:9000", "[::1]", True),
        ("http://[::1]:9000", "::1", True),
        ("http://[::1]:9000", "[::1]:9000", True),
        ("http://[::1]:9000", "[::1]:9001", False),
        ("http://127.0.0.1:9000", "127.0.0.1", True),
    ],
)
def test_host_matches_allowed_pattern(where: str, allowed: str, matches: bool) -> None:
    assert host_matches(where, allowed) is matches


def test_check_request_allow_hosts_limits_requests() -> None:
    Trust().check_request("http://anywhere.example/")
    trust = Trust(allow_hosts=("api.example",))
    trust.check_request("https://api.example/x")
    with pytest.raises(Refused, match=r"BK401 .*http://other\.example:80 .*--allow-host other\.example:80"):
        trust.check_request("http://other.example/x")
    with pytest.raises(Refused):
        Trust(allow_hosts=()).check_request("http://any.example/")


@pytest.mark.parametrize(
    ("trust", "secret", "goes"),
    [
        (Trust(), TOKEN, False),
        (Trust(named_origins=origins_in(["http://api.example/v1"])), TOKEN, True),
        (Trust(named_origins=origins_in(["https://api.example/v1"])), TOKEN, False),
        (Trust(named_origins=origins_in(["http://api.example:81"])), TOKEN, False),
        (Trust(allow_hosts=("api.example",)), TOKEN, True),
        (Trust(), ("token", Secret("s3cret-value", ("api.example",))), True),
        (Trust(), ("token", Secret("s3cret-value", ("other.example",))), False),
    ],
)
def test_check_request_secret_needs_named_origin(
    trust: Trust, secret: tuple[str, Secret], goes: bool
) -> None:
    trust.check_request("http://api.example/users")
    if goes:
        trust.check_request("http://api.example/users", [secret])
        return
    with pytest.raises(Refused) as caught:
        trust.check_request("http://api.example/users", [secret])
    assert caught.value.problems[0].code == "BK402"
    assert "s3cret-value" not in str(caught.value)


def test_check_program_needs_permission() -> None:
    Trust(allow_exec=True).check_program("/bin/ls")
    with pytest.raises(Refused, match=r"BK403 .*'/opt/my\.tool' .*my: \[/opt/my\.tool\].*--allow-exec"):
        Trust().check_program("/opt/my.tool")


@pytest.mark.parametrize("path", ["/repo", "/repo/a/b.yaml", "/repo/.github/x", "/repo/a.git/x", "/repo/..a"])
def test_check_inside_path_in_project_is_allowed(path: str) -> None:
    check_inside("/repo", path, "a.yaml")


@pytest.mark.parametrize(
    "path", ["/repo-evil/a", "/", "/etc/passwd", "/repo/.git", "/repo/sub/.git/hooks", "/repo/.GIT/x"]
)
def test_check_inside_path_outside_or_in_git_is_refused(path: str) -> None:
    with pytest.raises(Refused, match="BK404 shown leads"):
        check_inside("/repo", path, "shown")


def test_check_inside_project_at_root_of_file_system() -> None:
    check_inside("/", "/a/b", "shown")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environ", "is_ci"),
    [
        ({}, False),
        ({"CI": ""}, False),
        ({"CI": "True"}, True),
        ({"CI": "woodpecker"}, True),
        ({"CI": "False"}, False),
        ({"CI": "0"}, False),
        ({"GITHUB_ACTIONS": "false"}, False),
        *(({name: "x"}, True) for name in ("GITLAB_CI", "TF_BUILD", "TEAMCITY_VERSION", "JENKINS_URL")),
        *(
            ({name: "x"}, True)
            for name in ("BITBUCKET_BUILD_NUMBER", "CODEBUILD_BUILD_ID", "bamboo_buildKey")
        ),
        ({"CI": "", "TF_BUILD": "True"}, True),
        ({"CI": "false", "TF_BUILD": "True", "GITHUB_ACTIONS": "true"}, False),
        ({"CI_TOOLS": "1", "JENKINS_HOME": "/var/jenkins", "GITHUB_TOKEN": "x", "DRONE": ""}, False),
    ],
)
def test_in_ci_by_environment(environ: dict[str, str], is_ci: bool) -> None:
    assert in_ci(environ) is is_ci


FULL = {
    "python": ["python"],
    "py": ["/usr/bin/python3.12", "-I", "-B"],
    "sh": ["bash", "-e"],
    "tar": ["tar", "-c"],
    "git": ["git", "log"],
    "view": ["less"],
    "make": ["make", "all"],
    "node": ["node.exe"],
    "db": ["sqlite3"],
    "mytool": ["python", "-m", "mytool"],
    "json": ["python3.12", "-B", "-mjson.tool"],
    "code": ["python", "-Bc", "import json"],
    "warned": ["python", "-WImportWarning", "-X", "dev", "-m", "mytool"],
    "npx": ["npx", "tool"],
    "uv": ["uv", "run", "tool"],
}
FIXED = {
    "safe": ["python", "-P", "-m", "mytool"],
    "alone": ["python3.12", "-BIm", "mytool"],
    "word": ["python", "tools/report.py", "-m"],
    "report": ["python3", "tools/report.py"],
    "own": ["./own"],
    "says": ["sh", "-c", "echo"],
    "jq": ["jq"],
    "none": [],
}


def test_f15_unrestricted_programs_names_interpreters_and_readers() -> None:
    unrestricted = unrestricted_programs({**FULL, **FIXED})
    assert set(unrestricted) == set(FULL)


def test_f15_programs_from_checkout_names_their_files() -> None:
    commands = {"b": ["python", "tools/report.py"], "a": ["./own", "x"], "jq": ["jq", "."]}
    assert programs_from_checkout(commands, {"tools/report.py", "./own"}.__contains__) == {
        "a": ["./own"],
        "b": ["tools/report.py"],
    }


LINKS = {
    "/repo/in": "baselines/one",
    "/repo/up": "../etc/passwd",
    "/repo/abs": "/etc/passwd",
    "/repo/back": "/repo/baselines",
    "/repo/far": "/repo-evil/x",
    "/repo/loop": "loop",
    "/repo/baselines/root": "..",
    "/repo/git": ".git/config",
    "/repo/chain": "up",
}


def walked(path: str, start: str = "/repo") -> tuple[str, list[str]]:
    """Where a path leads, and everything that was looked at on the way."""
    looked: list[str] = []

    def link(at: str) -> str | None:
        looked.append(at)
        return LINKS.get(at)

    try:
        there = follow_links("/repo", start, path, link)
    except Refused as error:
        there = "" if error.problems[0].code == "BK404" else "another error"
    return there, looked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("a.yaml", "/repo/a.yaml"),
        ("./a//b/../c", "/repo/a/c"),
        ("baselines/../baselines/x", "/repo/baselines/x"),
        ("in", "/repo/baselines/one"),
        ("in/../two", "/repo/baselines/two"),
        ("back/x", "/repo/baselines/x"),
        ("baselines/root/a", "/repo/a"),
        ("/repo/a", "/repo/a"),
        ("", "/repo"),
        ("..", ""),
        ("../repo/a", ""),
        ("baselines/../../etc/passwd", ""),
        ("/etc/passwd", ""),
        ("/repo-evil/x", ""),
        ("/repo/../etc/passwd", ""),
        ("up", ""),
        ("up/x", ""),
        ("abs", ""),
        ("far", ""),
        ("chain", ""),
        ("loop", "/repo/loop"),
        (".git/config", ""),
        (".GIT/config", ""),
        ("git", ""),
        ("x/.git/../y", ""),
    ],
)
def test_f41_f42_follow_links_stays_inside_project(path: str, there: str) -> None:
    assert walked(path)[0] == there


@given(
    st.lists(
        st.sampled_from([*(k.removeprefix("/repo/") for k in LINKS), "..", ".", "a", "", "/etc", "/repo"])
    ),
    st.sampled_from(["/repo", "/repo/baselines"]),
)
def test_f41_follow_links_reads_nothing_outside(parts: list[str], start: str) -> None:
    there, looked = walked("/".join(parts), start)
    assert all(at.startswith("/repo/") for at in looked)
    assert there == "" or (there + "/").startswith("/repo/")
