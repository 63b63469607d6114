"""Files of git repositories by the addresses of their pages: what an address means, what is fetched and kept,
and that nothing of a repository, a host or the user's own configuration changes what is done."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkouts import EXECUTE, Checkout
from gitserver import GitServer, served

from baselinekit.cli.remotefiles import RemoteFiles
from baselinekit.clients.programs.gitfiles import GitFiles, GitLimits, is_remote, parse_address
from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Refused
from baselinekit.model.evals import Case
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.suites.loading import load_cases

pytestmark = pytest.mark.slow

GITHUB, GITLAB, BITBUCKET = "https://github.com", "https://gitlab.com", "https://bitbucket.org"
SHA = "0123456789abcdef0123456789abcdef01234567"

ADDRESSES = [
    (f"{GITHUB}/o/r/blob/main/a.md", f"{GITHUB}/o/r.git", ("main", "a.md")),
    (f"{GITHUB}/o/r.git/blob/main/a.md", f"{GITHUB}/o/r.git", ("main", "a.md")),
    (f"{GITHUB}/o/r/blob/{SHA}/d/a%20b.md", f"{GITHUB}/o/r.git", (SHA, "d", "a b.md")),
    (f"{GITHUB}/o/r/blob/main/blob/a.md", f"{GITHUB}/o/r.git", ("main", "blob", "a.md")),
    ("HTTPS://GitHub.com/o/r/blob/main/a.md", f"{GITHUB}/o/r.git", ("main", "a.md")),
    (f"{GITLAB}/g/p/-/blob/main/a.md", f"{GITLAB}/g/p.git", ("main", "a.md")),
    (f"{GITLAB}/g/s/t/p/-/blob/v1/d/a.md", f"{GITLAB}/g/s/t/p.git", ("v1", "d", "a.md")),
    (f"{BITBUCKET}/w/r/src/main/a.md", f"{BITBUCKET}/w/r.git", ("main", "a.md")),
    (f"{BITBUCKET}/w/r/src/{SHA}/src/a.md", f"{BITBUCKET}/w/r.git", (SHA, "src", "a.md")),
    ("https://git.example.com/g/p/-/blob/main/a.md", "https://git.example.com/g/p.git", ("main", "a.md")),
]

UNUSABLE = [
    *(f"{GITHUB}/{rest}" for rest in ("o/r", "o/r/tree/main/docs", "o/r/blob/main/", "o/p/r/blob/main/a.md")),
    *(f"{GITHUB}/o/r/blob/main/a.md{more}" for more in ("#L10-L20", "?token=x")),
    *(f"{GITHUB}/o/r/blob/main/{path}" for path in ("../../../etc/passwd", "%2e%2e/a.md", "..%2f..%2fa.md")),
    *(f"{GITHUB}/o/r/blob/main/{path}" for path in (".git/config", ".GIT/config", "a%00b", "a\\b", "a%0ab")),
    f"{GITHUB}/--upload-pack=touch%20x/r/blob/main/a.md",
    f"{GITLAB}/g/p/blob/main/a.md",
    f"{BITBUCKET}/w/r/blob/main/a.md",
    "https://user:pass@github.com/o/r/blob/main/a.md",
    *(f"https://{host}/o/r/blob/main/a.md" for host in ("github.com:8443", "github.com.evil.example", "[")),
    *(f"{way}github.com/o/r/blob/main/a.md" for way in ("http://", "git://", "ssh://git@")),
    "git@github.com:o/r/blob/main/a.md",
    "file:///etc/passwd",
    "ext::sh -c touch% x",
]


@pytest.mark.parametrize(("url", "clone_url", "words"), ADDRESSES)
def test_a11_parse_address_clone_url_and_words(url: str, clone_url: str, words: tuple[str, ...]) -> None:
    hosts = {"github.com": "github", "gitlab.com": "gitlab", "bitbucket.org": "bitbucket"}
    address = parse_address(url, {**hosts, "git.example.com": "gitlab"})
    assert (address.clone_url, address.words) == (clone_url, words)
    assert is_remote(url)


@pytest.mark.parametrize("url", UNUSABLE)
def test_f45_fetch_file_unusable_address_is_refused(url: str, tmp_path: Path) -> None:
    def run(spec: ProcessSpec) -> ProcessResult:
        raise AssertionError(spec.argv)

    with pytest.raises(InvalidInput) as caught:
        GitFiles(run, str(tmp_path / "cache")).fetch_file(url)
    assert caught.value.problems[0].code == "BK680"
    assert caught.value.problems[0].hint
    assert "pass" not in caught.value.problems[0].message  # a password is not repeated
    assert list(tmp_path.iterdir()) == []
    assert is_remote(url)


@pytest.mark.parametrize(
    "path", ["./a.md", "../a.md", "/docs/a.md", "a.md", "C:a.md", "--upload-pack=touch x", "a:b", ""]
)
def test_a11_is_remote_path_is_not_an_address(path: str) -> None:
    assert not is_remote(path)


# A server on loopback, and what is fetched from it.


class Desk:
    """A server with repositories, and a cache; each `files()` is what another run would have."""

    def __init__(self, folder: Path, server: GitServer):
        self.folder, self.server = folder, server

    def repository(self, name: str) -> Checkout:
        return Checkout(self.folder / "served" / f"{name}.git")

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def files(self, offline: bool = False, limits: GitLimits | None = None) -> GitFiles:
        hosts = {f"http://{self.server.place}": "github"}
        return GitFiles(
            EXECUTE, str(self.cache), hosts, offline=offline, limits=limits, mask=lambda text: text
        )  # type: ignore[arg-type]

    def url(self, rest: str) -> str:
        return f"http://{self.server.place}/{rest}"

    def read(self, rest: str, **more: bool) -> bytes:
        return self.files(**more).fetch_file(self.url(rest)).data

    def code(self, rest: str, offline: bool = False, limits: GitLimits | None = None) -> str:
        with pytest.raises(BaselinekitError) as caught:
            self.files(offline, limits).fetch_file(self.url(rest))
        assert caught.value.problems[0].hint
        return caught.value.problems[0].code

    def take_request_count(self) -> int:
        count = len(self.server.requests)
        self.server.requests.clear()
        return count


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "served").mkdir()
    with served(tmp_path / "served") as server:
        yield Desk(tmp_path, server)


def test_a11_fetch_file_fetches_repository_once_per_commit(desk: Desk) -> None:
    first = desk.repository("team/lib").commit({"docs/a.md": "one\n", "b.md": "two\n"})
    files = desk.files()
    fetched = files.fetch_file(desk.url("team/lib/blob/main/docs/a.md"))
    assert (fetched.data, fetched.commit) == (b"one\n", first)
    assert Path(fetched.path).read_bytes() == b"one\n"
    assert os.path.isabs(fetched.path)
    assert os.path.basename(fetched.path) == "a.md"
    assert desk.take_request_count() > 2
    assert files.fetch_file(desk.url("team/lib/blob/main/b.md")).data == b"two\n"
    assert desk.take_request_count() == 0, "in one run a branch is looked up once"
    assert desk.read("team/lib/blob/main/b.md") == b"two\n"
    assert desk.take_request_count() == 2, "another run asks where the branch is, and fetches nothing"
    assert desk.read(f"team/lib/blob/{first}/b.md") == b"two\n"
    assert desk.take_request_count() == 0, "a commit stays what it is"


@pytest.mark.slow
def test_a11_fetch_file_of_branches_tags_and_commits(desk: Desk) -> None:
    repository = desk.repository("team/lib")
    first = repository.commit({"a.md": "first", "x/a.md": "first x"})
    repository.git("tag", "-a", "-m", "a tag with a message", "v1")
    repository.git("tag", "feature")
    second = repository.commit({"a.md": "second"})
    repository.git("branch", "feature/x")
    repository.git("tag", "release")
    repository.commit({"a.md": "third", "x/a.md": "third x"})
    repository.git("branch", "release")
    for name, text in {
        "main": b"third",
        "HEAD": b"third",
        "v1": b"first",
        "refs/tags/v1": b"first",
        "refs/heads/main": b"third",
        "feature/x": b"second",
        "feature": b"first",
        "release": b"third",  # a branch and a tag
        first: b"first",
        second: b"second",  # no branch is there
    }.items():
        assert desk.read(f"team/lib/blob/{name}/a.md") == text, name
    # the branch feature/x has no a.md below x/, and the tag feature has
    repository.git("checkout", "-q", "feature/x")
    repository.git("rm", "-q", "a.md")
    repository.commit()
    assert desk.read("team/lib/blob/feature/x/a.md") == b"first x"
    assert desk.code("team/lib/blob/feature/x/b.md") == "BK680"
    assert desk.code("team/lib/blob/feture/b.md") == "BK680"
    assert desk.code(f"team/lib/blob/{'0' * 40}/a.md") in ("BK680", "BK681")
    assert desk.code("team/lib/blob/0000000/a.md") == "BK680"


@pytest.mark.slow
def test_f46_fetch_file_moved_branch_and_old_commit(desk: Desk) -> None:
    repository = desk.repository("team/lib")
    first = repository.commit({"a.md": "one"})
    assert desk.read("team/lib/blob/main/a.md") == b"one"
    repository.commit({"a.md": "two"})
    assert desk.read("team/lib/blob/main/a.md") == b"two"
    desk.server.requests.clear()
    assert desk.read(f"team/lib/blob/{first}/a.md") == b"one"
    assert desk.take_request_count() == 0


def test_a11_fetch_file_offline_uses_cache_only(desk: Desk) -> None:
    commit = desk.repository("team/lib").commit({"a.md": "one"})
    assert desk.code("team/lib/blob/main/a.md", offline=True) == "BK681"
    assert desk.code(f"team/lib/blob/{commit}/a.md", offline=True) == "BK681"
    assert desk.take_request_count() == 0
    assert desk.read("team/lib/blob/main/a.md") == b"one"
    desk.take_request_count()
    assert desk.read("team/lib/blob/main/a.md", offline=True) == b"one"
    assert desk.read(f"team/lib/blob/{commit}/a.md", offline=True) == b"one"
    assert desk.code("team/lib/blob/other/a.md", offline=True) == "BK681"
    assert desk.take_request_count() == 0


@pytest.mark.slow
def test_f45_fetch_file_link_module_and_folder_are_refused(desk: Desk) -> None:
    repository = desk.repository("team/lib")
    folder = repository.folder
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "folder").symlink_to("/etc")
    repository.write({"d/a.md": "x", "large.md": "x" * 2_000})
    repository.write({"lfs.md": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"})
    repository.git("add", "-A")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{SHA},module")
    repository.git("commit", "-q", "-m", "x")
    for path, code in {
        "link.md": "BK680",
        "folder/passwd": "BK680",
        "module": "BK680",
        "module/a.md": "BK680",
        "d": "BK680",
        "lfs.md": "BK680",
        "large.md": "BK680",
        "A.md": "BK680",
        ":(glob)**": "BK680",
        "*.md": "BK680",
    }.items():
        assert desk.code(f"team/lib/blob/main/{path}", limits=GitLimits(file=1_000)) == code, path
    # hooks, filters and monitors of a repository are never run: nothing of it is checked out
    assert not list(desk.cache.rglob("hooks"))


def test_f45_fetch_file_host_that_wants_a_password_gets_none(desk: Desk) -> None:
    before = time.monotonic()
    assert desk.code("private/lib/blob/main/a.md") == "BK681"
    assert time.monotonic() - before < 10
    assert not any("Authorization" in headers for headers in desk.server.request_headers)


def test_f45_fetch_file_redirect_is_not_followed(desk: Desk) -> None:
    desk.repository("team/lib").commit({"a.md": "one"})
    assert desk.code("moved/lib/blob/main/a.md") == "BK681"
    assert all("/moved/" in path for path in desk.server.requests)


def test_f45_fetch_file_silent_host_times_out_once(desk: Desk) -> None:
    files = desk.files(limits=GitLimits(seconds=0.5))
    before = time.monotonic()
    for path in ("a.md", "b.md", "c.md"):
        with pytest.raises(CannotReplay, match=r"BK681 .* was not fetched within 0\.5 s"):
            files.fetch_file(desk.url(f"silent/lib/blob/main/{path}"))
    assert time.monotonic() - before < 4
    assert desk.take_request_count() == 1


def test_f45_fetch_file_too_large_repository_is_refused(desk: Desk) -> None:
    repository = desk.repository("team/lib")
    (repository.folder / "noise").write_bytes(os.urandom(300_000))
    repository.commit({"a.md": "one"})
    assert desk.code("team/lib/blob/main/a.md", limits=GitLimits(repository=100_000)) == "BK680"
    assert desk.read("team/lib/blob/main/a.md") == b"one"


def test_f45_fetch_file_git_gets_clean_environment(tmp_path: Path) -> None:
    """git gets nothing of the user's configuration, which could log in or run something, and the address is
    where it cannot be an option."""
    specs: list[ProcessSpec] = []

    def run(spec: ProcessSpec) -> ProcessResult:
        specs.append(spec)
        listed = f"{SHA}\trefs/heads/main\n".encode() if "ls-remote" in spec.argv else b""
        return ProcessResult(128 if "fetch" in spec.argv else 0, listed, b"fatal: x", 0.1)

    files = GitFiles(run, str(tmp_path / "cache"))
    with pytest.raises(CannotReplay):
        files.fetch_file(f"{GITHUB}/o/r/blob/main/a.md")
    assert [word for spec in specs for word in spec.argv if word in ("ls-remote", "init", "fetch")] == [
        *("ls-remote", "init", "fetch")
    ]
    allowed = {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT"}
    allowed |= {name for name in os.environ if name.lower().endswith("_proxy") or "SSL" in name}
    for spec in specs:
        own = {name for name in spec.env if name.startswith("GIT_") and "SSL" not in name}
        assert own == {
            *("GIT_ALLOW_PROTOCOL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT"),
            *("GIT_NO_LAZY_FETCH", "GIT_NO_REPLACE_OBJECTS"),
        }
        assert spec.env["HOME"] == spec.env["GIT_CONFIG_GLOBAL"] == os.devnull
        assert spec.env["GIT_ALLOW_PROTOCOL"] == "https"
        assert set(spec.env) - own <= allowed
        assert 0 < spec.timeout <= 60
        if f"{GITHUB}/o/r.git" in spec.argv:
            assert spec.argv[spec.argv.index(f"{GITHUB}/o/r.git") - 1] == "--"


EVAL = """\
evalcases:
  - id: review
    expected_outcome: Keeps to the rules
    input:
      - role: user
        content:
          - {{type: text, value: "Review this:"}}
          - {{type: file, value: "{url}"}}
"""


def test_a11_eval_file_names_remote_file(desk: Desk, tmp_path: Path) -> None:
    desk.repository("team/lib").commit({"rules.md": "Be kind.\r\nBe short.\r\n"})
    folder = tmp_path / "project"
    folder.mkdir()
    fetch_file = desk.files().fetch_file

    def load(rest: str) -> Case:
        (folder / "x.yaml").write_text(EVAL.format(url=desk.url(rest)))
        (case,) = load_cases(["x.yaml"], str(folder), fetch_file=fetch_file)
        return case

    case = load("team/lib/blob/main/rules.md")
    assert "Be kind.\nBe short.\n" in json.dumps(case.wanted.asked[0].content, ensure_ascii=False).replace(
        "\\n", "\n"
    )
    assert [Path(path).read_bytes() for path in case.wanted.input_files] == [b"Be kind.\r\nBe short.\r\n"]
    for rest, kind, code in (
        ("team/lib/blob/main/rule.md", InvalidInput, "BK680"),
        ("private/lib/blob/main/rules.md", CannotReplay, "BK681"),
        ("team/lib", InvalidInput, "BK680"),
    ):
        with pytest.raises(kind) as caught:
            load(rest)
        (problem,) = caught.value.problems
        assert (problem.code, str(problem.place)) == (code, "x.yaml:8:33"), rest


def test_remote_files_hosts_come_from_configuration(tmp_path: Path) -> None:
    """The hosts of the configuration for git are asked, others where `allow_hosts` has them."""
    (tmp_path / "baselinekit.yaml").write_text(
        "allow_hosts: [api.example.com, gitlab.com]\ngit: {hosts: {git.example.com: gitlab}, offline: true}\n"
    )
    files = RemoteFiles(open_project(Operator(cwd=str(tmp_path))), environ={"XDG_CACHE_HOME": str(tmp_path)})
    assert files.offline
    with pytest.raises(Refused, match="BK401"):
        files.fetch_file(f"{GITHUB}/o/r/blob/main/a.md")
    with pytest.raises(CannotReplay, match="BK681"):
        files.fetch_file("https://git.example.com/g/p/-/blob/main/a.md")
    assert not (tmp_path / "baselinekit").exists()


# What goes wrong with a cache.


def test_f46_fetch_file_changed_cache_file_is_replaced(desk: Desk) -> None:
    desk.repository("team/lib").commit({"a.md": "one"})
    path = desk.files().fetch_file(desk.url("team/lib/blob/main/a.md")).path
    Path(path).write_text("forged")
    assert desk.read("team/lib/blob/main/a.md") == b"one"
    assert Path(path).read_bytes() == b"one"
    Path(path).unlink()
    Path(path).symlink_to("/dev/zero")
    assert desk.read("team/lib/blob/main/a.md") == b"one"
    assert not Path(path).is_symlink()
