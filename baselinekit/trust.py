"""What may run, be asked and be read. The operator and the configuration grant; a data file never does.

Pure rules: whoever touches the world asks here first, with paths already resolved.
"""

import os.path
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from baselinekit.addresses import NetworkKind, network_of, network_of_host
from baselinekit.errors import Problem, Refused
from baselinekit.variables import Secret

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INTERPRETERS = _words(
    """
    python pypy sh bash zsh dash ksh fish csh tcsh busybox node nodejs deno bun ruby perl php lua luajit
    tclsh rscript r julia java groovy scala kotlin ghci erl elixir iex swift osascript pwsh powershell
    cmd ipython tsx ts-node ts-node-esm sqlite psql mysql
    """
)
"""Of these the first word that follows is a script: where the configuration gives it, a file adds words."""

_READERS = _words(
    """
    awk gawk mawk sed find xargs parallel env nice nohup timeout time watch sudo su doas ssh scp sftp
    rsync tar zip cpio git hg svn less more man vi vim nvim emacs nano ed ex gdb lldb strace ltrace make
    gmake cmake ninja npm yarn pnpm pip pip3 pipx cargo go mvn gradle ant rake bundle gem composer
    docker podman kubectl helm terraform ansible ansible-playbook curl wget nmap socat nc ncat openssl
    dd install crontab at batch systemd-run unshare nsenter chroot setsid stdbuf script expect tmux
    screen just task pytest tox nox uv poetry pipenv npx pnpx bunx
    """
)
"""Of these a word (`tar --to-command`, `git -c`), or a file that they find, says what is run or read."""

_PYTHONS = _words("python pypy ipython")

_NO = frozenset(("", "0", "false"))
_CI = (
    *("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BUILDKITE", "TEAMCITY_VERSION", "JENKINS_URL", "CIRCLECI"),
    *("TRAVIS", "APPVEYOR", "DRONE", "WOODPECKER_CI", "BITBUCKET_BUILD_NUMBER", "CODEBUILD_BUILD_ID"),
    *("SEMAPHORE", "CIRRUS_CI", "BITRISE_IO", "CM_BUILD_ID", "HARNESS_BUILD_ID", "GO_PIPELINE_NAME"),
    *("BUDDY", "CF_BUILD_ID", "bamboo_buildKey", "NEVERCODE", "GITEA_ACTIONS", "FORGEJO_ACTIONS"),
)
"""Each set by one CI system: GitHub, GitLab, Azure Pipelines, Buildkite, TeamCity, Jenkins …"""

_MOST_LINKS = 40  # as for the system
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Trust:
    """`allow_hosts`: None = any. `named_origins`: those that the operator or the configuration named for this
    run, by a variable, a base_url or a host; only there may a secret go. `configured_origins`: all that stand
    anywhere in the configuration, those of other environments too. `ci`: whether a CI system runs this."""

    allow_hosts: tuple[str, ...] | None = None
    named_origins: frozenset[str] = frozenset()
    allow_exec: bool = False
    configured_origins: frozenset[str] = frozenset()
    ci: bool = False

    def check_request(self, url: str, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        """May this request go out, with these secrets in it?"""
        where = origin(url)
        if self.allow_hosts is not None and not any(host_matches(where, host) for host in self.allow_hosts):
            raise Refused(
                Problem(
                    "BK401",
                    f"requests to {where} are not allowed",
                    f"pass --allow-host {host_of(where)}, or add it to `allow_hosts:` in baselinekit.yaml",
                )
            )
        self.check_address(url)
        for name, secret in secrets:
            hosts = (*secret.hosts, *(self.allow_hosts or ()))
            if where not in self.named_origins and not any(host_matches(where, host) for host in hosts):
                raise Refused(
                    Problem(
                        "BK402",
                        f"the secret {name} would go to {where}, which only the file names",
                        f"allow it yourself: --allow-host {host_of(where)}, or `hosts:` of the secret",
                    )
                )

    def naming(self, url: str) -> "Trust":
        """The same where the operator or the configuration has named this origin as well."""
        return replace(self, named_origins=self.named_origins | origins_in([url]))

    def allowing(self, url: str) -> "Trust":
        """The same where the operator has named this origin and wants it asked."""
        hosts = self.allow_hosts
        named = self.naming(url)
        return named if hosts is None else replace(named, allow_hosts=(*hosts, host_of(origin(url))))

    def check_address(self, url: str, address: str | None = None) -> None:
        """May this request go to this address, the one that is about to be connected to? Without one, as
        before a look-up, or where a proxy looks the name up, what the URL itself says is judged.

        Link-local addresses, where clouds hand out credentials, have to be named as such: a name that leads
        there is not enough, as whoever answers for the name decides where it leads."""
        network = network_of_host(_host(url)) if address is None else network_of(address)
        if network is NetworkKind.LINK_LOCAL:
            where = origin(url)
            if not self.names(where, exactly=True) or network_of_host(_host(url)) is not network:
                raise Refused(_must_be_named(where, address, "a link-local address or cloud metadata"))
        elif network is NetworkKind.PRIVATE and self.ci:
            where = origin(url)
            if not self.names(where):
                raise Refused(_must_be_named(where, address, "in a private network"))

    def names(self, where: str, exactly: bool = False) -> bool:
        """Whether the operator or the configuration names an origin. `exactly`: no `*.` will do."""
        hosts = [host for host in self.allow_hosts or () if not (exactly and "*" in host)]
        named = where in self.named_origins or where in self.configured_origins
        return named or any(host_matches(where, host) for host in hosts)

    def check_program(self, program: str) -> None:
        """May this program, which the configuration does not name, be run?"""
        if not self.allow_exec:
            raise Refused(
                Problem(
                    "BK403",
                    f"the program {program!r} is not named in the configuration",
                    f"add it under `commands:` in baselinekit.yaml ({_name_of(program)}: [{program}]), "
                    "or pass --allow-exec",
                )
            )


def _must_be_named(where: str, address: str | None, what: str) -> Problem:
    leads = where if address is None or f"//{address}:" in where else f"{where} leads to {address}, which"
    if "link-local" in what:
        return Problem(
            "BK407",
            f"{leads} is {what}, and the configuration does not name that address",
            "if it is meant, name the address itself in baselinekit.yaml: base_url, variables or allow_hosts",
        )
    return Problem(
        "BK407",
        f"{leads} is {what}, and in CI only what the configuration names may be reached there",
        f"name it in baselinekit.yaml, such as `variables: {{internal_url: {_short(where)}}}` (base_url, "
        "environments and allow_hosts count too; `capture --allow` does it), or pass --allow-host "
        f"{host_of(where)}",
    )


def _host(url: str) -> str:
    """The host as it is written; where it cannot be told, `origin` refuses."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _short(where: str) -> str:
    """An origin as people write it: without the port that goes without saying."""
    scheme, _, _ = where.partition("://")
    return where.removesuffix(f":{_DEFAULT_PORTS[scheme]}")


def in_ci(environ: Mapping[str, str]) -> bool:
    """Whether a CI system runs this. What `CI` says goes first, a no too; then the systems' own variables."""
    stated = environ.get("CI", "").strip().lower()
    return stated not in _NO if stated else any(environ.get(name, "").lower() not in _NO for name in _CI)


def check_inside(root: str, path: str, shown: str) -> None:
    """Does a path stay inside the project? Both come resolved (links followed)."""
    if os.path.commonpath([root, path]) != root:
        raise _outside(shown)
    if ".git" in os.path.relpath(path, root).lower().split(os.sep):
        raise Refused(Problem("BK404", f"{shown} leads into .git", "use a path outside .git"))


def followed(
    root: str, start: str, path: str, link: Callable[[str], str | None], shown: str | None = None
) -> str:
    """Where a path of a data file leads from a folder in the project, links followed; both folders come
    resolved. Step by step, and refused at the first that is outside, so that nothing outside is looked at:
    what is said does not tell whether it is there. `link`: what a link holds, None for what is none."""
    shown = path if shown is None else shown
    if start != root:
        check_inside(root, start, shown)
    here, left, links = start, [path], 0
    while left:
        step = left.pop()
        if os.path.isabs(step):
            here, step = root, _below(root, os.path.normpath(step), shown)
        first, _, rest = step.partition(os.sep)
        if rest:
            left.append(rest.lstrip(os.sep))
        if first in ("", "."):
            continue
        if first == "..":
            if here == root:
                raise _outside(shown)
            here = os.path.dirname(here)
            continue
        there = f"{here}{'' if here == os.sep else os.sep}{first}"
        if first.lower() == ".git":
            check_inside(root, there, shown)
        target = link(there)
        if target is None:
            here = there
            continue
        links += 1
        if links > _MOST_LINKS:
            return there  # in a circle: nobody opens that, the system neither
        left.append(target)
    return here


def _below(root: str, path: str, shown: str) -> str:
    """An absolute path as one from the root."""
    if path != root and not path.startswith(root.rstrip(os.sep) + os.sep):
        raise _outside(shown)
    return path[len(root) :].lstrip(os.sep)


def _outside(shown: str) -> Refused:
    return Refused(Problem("BK404", f"{shown} leads out of the project", "use a path inside the project"))


def origin(url: str) -> str:
    """`scheme://host:port`, lower case, the port always there. What two readers could take for two hosts is
    refused: a request would go where nobody looked."""
    where = _origin(url)
    if where is None:
        raise Refused(
            Problem(
                "BK405",
                "a URL does not say unambiguously where it leads",  # nor is it shown: it may hold a password
                "write http://host:port/path, with no user, blank, backslash or control character",
            )
        )
    return where


def origins_in(values: Iterable[object]) -> frozenset[str]:
    """The origins of those values that are URLs."""
    found = (_origin(value) for value in values if isinstance(value, str))
    return frozenset(where for where in found if where is not None)


def _origin(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    odd = set("@\\ ") & set(parts.netloc) or _CONTROLS.search(url) or url != url.strip()
    if scheme not in _DEFAULT_PORTS or not host or odd:
        return None
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port or _DEFAULT_PORTS[scheme]}"


def host_of(where: str) -> str:
    return where.split("://", 1)[1]


def host_matches(where: str, allowed: str) -> bool:
    """`example.com` (any port), `example.com:8080`, `*.example.com`, `https://example.com`."""
    scheme, host_port = where.split("://", 1)
    wanted_scheme, found, rest = allowed.rpartition("://")
    if found and wanted_scheme.lower() != scheme:
        return False
    rest = rest.rstrip("/").lower()
    if rest.count(":") > 1 and "[" not in rest:
        rest = f"[{rest}]"
    host, _, port = host_port.rpartition(":")
    wanted, colon, wanted_port = rest.rpartition(":")
    if not colon or not wanted_port.isdigit():
        wanted = rest
    elif wanted_port != port:
        return False
    return host == wanted or (wanted.startswith("*.") and host.endswith(wanted[1:]))


def full_grants(commands: Mapping[str, Sequence[str]]) -> list[str]:
    """The named programs with which a data file runs whatever it likes, as it gives them further words or
    what they read. Not all of them: nobody knows every program."""
    return sorted(name for name, argv in commands.items() if argv and _runs_anything(argv))


def _runs_anything(argv: Sequence[str]) -> bool:
    name = _name_of_program(argv[0])
    if name in _READERS or imports_from_its_folder(argv):
        return True
    return name in _INTERPRETERS and all(word.startswith("-") for word in argv[1:])


def _name_of_program(program: str) -> str:
    """Without its folder and version."""
    return re.sub(r"[0-9.]+$", "", os.path.basename(program).lower().removesuffix(".exe"))


def imports_from_its_folder(argv: Sequence[str]) -> bool:
    """Whether a Python looks for modules first in the folder that it runs in, which is the checkout's: so it
    does with `-m` and `-c`, unless `-P` or `-I` stands before."""
    if not argv or _name_of_program(argv[0]) not in _PYTHONS:
        return False
    rest = iter(argv[1:])
    for word in rest:
        if not word.startswith("-"):
            return False
        for place, letter in enumerate(word[1:], 1):
            if letter in "PI":
                return False
            if letter in "mc":
                return True
            if letter in "XW":  # the value is what follows, here or in the next word
                if place == len(word) - 1:
                    next(rest, "")
                break
    return False


def parts_of_checkout(
    commands: Mapping[str, Sequence[str]], is_file: Callable[[str], bool]
) -> dict[str, list[str]]:
    """The named programs that are made of files of the project, and which: a pull request may have changed
    those, whatever commit the configuration is of. `is_file`: whether a word is one of them."""
    found = {name: [word for word in argv if is_file(word)] for name, argv in sorted(commands.items())}
    return {name: files for name, files in found.items() if files}


def _name_of(program: str) -> str:
    return os.path.basename(program).split(".")[0] or "name"
