"""The address of a file in a public git repository, as its page at GitHub, GitLab or Bitbucket has it."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from baselinekit.errors import InvalidInput, Problem
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern

HostForm = Literal["github", "gitlab", "bitbucket"]

HOSTS: dict[str, HostForm] = {
    "github.com": "github",
    "gitlab.com": "gitlab",
    "bitbucket.org": "bitbucket",
}

_BEFORE_REF: dict[str, tuple[str, ...]] = {
    "github": ("/blob/", "/raw/"),
    "gitlab": ("/-/blob/", "/-/raw/"),
    "bitbucket": ("/src/", "/raw/"),
}
_SHOWN = {
    "github": "/OWNER/REPOSITORY/blob/REF/PATH",
    "gitlab": "/GROUP/PROJECT/-/blob/REF/PATH",
    "bitbucket": "/OWNER/REPOSITORY/src/REF/PATH",
}
_OF_THE_PAGE = frozenset(("plain", "raw", "ref_type", "at", "blame", "inline"))
"""Parameters that say how a page looks, and nothing of the file."""

_REMOTE = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:(//|:)|git@")
_NAME = lazy_pattern(r"[A-Za-z0-9_.~+-]*[A-Za-z0-9_][A-Za-z0-9_.~+-]*")
_BAD_WORDS = ("", ".", "..", ".git")


def is_remote(value: str) -> bool:
    """Whether the value of a file reference is an address (of any kind), and no path."""
    return _REMOTE.match(value) is not None


@frozen
class GitAddress:
    """The address of a file. `words`: first the name of a branch, a tag or a commit, which may itself have
    several words, then the path."""

    url: str
    clone_url: str
    words: tuple[str, ...]

    def readings(self) -> Iterator[tuple[str, str]]:
        """Every name and path that the words may mean, the longest name first."""
        for count in range(len(self.words) - 1, 0, -1):
            yield "/".join(self.words[:count]), "/".join(self.words[count:])


def parse_address(url: str, hosts: Mapping[str, HostForm] = HOSTS) -> GitAddress:
    """What an address means; InvalidInput where it is none that we read. `hosts`: by `host`, by `host:port`,
    or with another scheme than https before it."""
    known = {key if "://" in key else f"https://{key}": form for key, form in hosts.items()}
    try:
        parts = urlsplit(url)
        host = f"{parts.scheme.lower()}://{parts.netloc.lower()}"
        form = known.get(host)
    except ValueError:
        form = None
    if form is None:
        shown = ", ".join(f"{host}{_SHOWN[form]}" for host, form in known.items())
        raise _unusable("is not the https address of a file in a git repository that is known here", shown)
    place = parts.netloc.lower()
    hint = f"write {host}{_SHOWN[form]}"
    before, found, after = "", "", ""
    for separator in _BEFORE_REF[form]:
        if not found and separator in parts.path:
            before, found, after = parts.path.partition(separator)
    if not found:
        raise _unusable(f"does not name a file of {place}", hint)
    if parts.fragment:
        raise _unusable("names lines of a file, and the whole file is read", "leave out what follows the #")
    stated = {pair.partition("=")[0] for pair in parts.query.split("&") if pair}
    if stated - _OF_THE_PAGE:
        raise _unusable("has parameters that say nothing of a file", "leave out what follows the ?")
    repository = before.strip("/").split("/")
    words = [unquote(word) for word in after.split("/")]
    two = len(repository) == 2 or (form == "gitlab" and len(repository) > 2)
    if not two or not all(map(_NAME.fullmatch, repository)) or len(words) < 2:
        raise _unusable(f"does not name a file of {place}", hint)
    for word in words:
        if word.lower() in _BAD_WORDS or re.search(r"[\x00-\x1f\x7f/\\]", word):
            raise _unusable(f"has {word!r} in its path, which no file of a repository is named by", hint)
    path = "/".join(quote(name) for name in repository).removesuffix(".git")
    return GitAddress(url, f"{host}/{path}.git", tuple(words))


def _unusable(what: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK680", f"a git URL {what}", hint))


@frozen
class FetchedFile:
    """A file of a repository as it stands in the cache. `path` is absolute, and that of a regular file."""

    url: str
    path: str
    data: bytes
    commit: str
