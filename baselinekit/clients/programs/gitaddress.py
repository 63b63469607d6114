"""The address of a file in a public git repository: that of its page at GitHub, GitLab or Bitbucket."""

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
"""Parameters about the look of the page, not about the file."""

_REMOTE = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:(//|:)|git@")
_NAME = lazy_pattern(r"[A-Za-z0-9_.~+-]*[A-Za-z0-9_][A-Za-z0-9_.~+-]*")
_BAD_WORDS = ("", ".", "..", ".git")


def is_remote(value: str) -> bool:
    """Whether the value of a file reference is an address (of any kind), and not a path."""
    return _REMOTE.match(value) is not None


@frozen
class GitAddress:
    """The address of a file. `words`: the parts of the name of a branch, a tag or a commit, which may contain
    slashes, followed by the parts of the path."""

    url: str
    clone_url: str
    words: tuple[str, ...]

    def readings(self) -> Iterator[tuple[str, str]]:
        """Every split of the words into a name and a path, the longest name first."""
        for count in range(len(self.words) - 1, 0, -1):
            yield "/".join(self.words[:count]), "/".join(self.words[count:])


def parse_address(url: str, hosts: Mapping[str, HostForm] = HOSTS) -> GitAddress:
    """Parse an address; InvalidInput if it is not supported. `hosts`: by `host`, by `host:port`, or with
    another scheme than https before it."""
    forms = {key if "://" in key else f"https://{key}": form for key, form in hosts.items()}
    try:
        parts = urlsplit(url)
        host = f"{parts.scheme.lower()}://{parts.netloc.lower()}"
        form = forms.get(host)
    except ValueError:
        form = None
    if form is None:
        examples = ", ".join(f"{host}{_SHOWN[form]}" for host, form in forms.items())
        raise _unusable("is not the https address of a file in a git repository that is known here", examples)
    host_name = parts.netloc.lower()
    hint = f"write {host}{_SHOWN[form]}"
    before, separator_found, after = "", "", ""
    for separator in _BEFORE_REF[form]:
        if not separator_found and separator in parts.path:
            before, separator_found, after = parts.path.partition(separator)
    if not separator_found:
        raise _unusable(f"does not name a file of {host_name}", hint)
    if parts.fragment:
        raise _unusable("names lines of a file, and the whole file is read", "leave out what follows the #")
    parameters = {pair.partition("=")[0] for pair in parts.query.split("&") if pair}
    if parameters - _OF_THE_PAGE:
        raise _unusable("has parameters that say nothing of a file", "leave out what follows the ?")
    repository = before.strip("/").split("/")
    words = [unquote(word) for word in after.split("/")]
    is_repository = len(repository) == 2 or (form == "gitlab" and len(repository) > 2)
    if not is_repository or not all(map(_NAME.fullmatch, repository)) or len(words) < 2:
        raise _unusable(f"does not name a file of {host_name}", hint)
    for word in words:
        if word.lower() in _BAD_WORDS or re.search(r"[\x00-\x1f\x7f/\\]", word):
            raise _unusable(f"has {word!r} in its path, which no file of a repository is named by", hint)
    path = "/".join(quote(name) for name in repository).removesuffix(".git")
    return GitAddress(url, f"{host}/{path}.git", tuple(words))


def _unusable(reason: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK680", f"a git URL {reason}", hint))


@frozen
class FetchedFile:
    """A file of a repository in the cache. `path` is absolute, and that of a regular file."""

    url: str
    path: str
    data: bytes
    commit: str
