"""What may run, be asked and be read. The operator and the configuration grant; a data file never does."""

import ipaddress
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from baselinekit.errors import Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.variables import Secret

# Which network an address is in, and which address a host is a spelling of. A URL can write
# 169.254.169.254 as 2852039166, 0xA9FEA9FE, 0251.0376.0251.0376, 169.254.43518, [::ffff:a9fe:a9fe] and
# in many more ways, and each library reads some of them. Whoever connects asks about the address that
# was resolved; only where nobody has resolved it yet, the text of the host is read here.


class NetworkKind(IntEnum):
    """The larger, the less a request may go there by itself."""

    LOOPBACK = 0
    PUBLIC = 1
    PRIVATE = 2
    LINK_LOCAL = 3


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NETWORKS = {
    NetworkKind.LOOPBACK: (
        "127.0.0.0/8",
        "0.0.0.0/32",
        "::1/128",
        "::/128",
    ),  # 0.0.0.0 connects to this machine
    NetworkKind.LINK_LOCAL: (
        *("169.254.0.0/16", "fe80::/10"),
        *("100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"),  # metadata: Alibaba, Oracle, Azure
        *("fd00:ec2::/32", "fd20:ce::/64"),  # metadata over IPv6: AWS, Google
    ),
    NetworkKind.PRIVATE: (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
        *("100.64.0.0/10", "198.18.0.0/15", "192.0.0.0/24"),  # of carriers, of test beds, of protocols
        *("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "ff00::/8"),  # nobody's, groups, reserved and broadcast
    ),
}
_TABLE = [(ipaddress.ip_network(text), network) for network, texts in _NETWORKS.items() for text in texts]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METADATA = _words(
    """
    metadata.google.internal metadata.goog metadata.azure.internal metadata.azure.com
    metadata.tencentyun.com metadata.packet.net metadata.platformequinix.com instance-data
    instance-data.ec2.internal instance-data.amazonaws.com
    """
)
"""Names under which clouds serve metadata, for where somebody else resolves them."""

_DOTS = str.maketrans({"。": ".", "｡": ".", "．": "."})
_LONGEST = 64
_32 = 0xFFFF_FFFF


@lru_cache(maxsize=1024)
def network_of(address: str) -> NetworkKind:
    """The network of an address as a look-up gives it. Of one that carries an IPv4 address in it (mapped,
    NAT64, 6to4, Teredo, ISATAP) the stricter of the two counts; what is no address counts as link-local."""
    try:
        return _network(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return NetworkKind.LINK_LOCAL


@lru_cache(maxsize=1024)
def network_of_host(host: str) -> NetworkKind:
    """The network that the text of a host says by itself; a name says none, so that it counts as public."""
    text = _plain(host)
    if text in _METADATA:
        return NetworkKind.LINK_LOCAL
    return max(map(_network, _readings(text)), default=NetworkKind.PUBLIC)


def _plain(host: str) -> str:
    text = normalize("NFKC", unquote(host[:_LONGEST].translate(_DOTS))).lower()
    return text.strip("[]").partition("%")[0].rstrip(".")


def _network(address: _Address) -> NetworkKind:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return _network(address.ipv4_mapped)
    inner = _carried(address) if isinstance(address, ipaddress.IPv6Address) else ()
    return max(map(_own, (address, *inner)))


def _own(address: _Address) -> NetworkKind:
    found = (kind for net, kind in _TABLE if net.version == address.version and address in net)
    return next(found, NetworkKind.PUBLIC)


def _carried(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that one of IPv6 may lead to, on some way or other."""
    number = int(address)
    high, low = number >> 32, number & _32
    if high in (0, 0xFFFF_0000) and low > 1:  # ::a.b.c.d, and ::ffff:0:a.b.c.d
        yield ipaddress.IPv4Address(low)
    if number >> 96 == 0x0064_FF9B:  # NAT64, both prefixes
        yield ipaddress.IPv4Address(low)
    if number >> 112 == 0x2002:  # 6to4
        yield ipaddress.IPv4Address(number >> 80 & _32)
    if number >> 96 == 0x2001_0000:  # Teredo: its server, and the client turned over
        yield ipaddress.IPv4Address(number >> 64 & _32)
        yield ipaddress.IPv4Address(low ^ _32)
    if high & 0xFCFF_FFFF == 0x0000_5EFE:  # ISATAP
        yield ipaddress.IPv4Address(low)


def _readings(text: str) -> Iterator[_Address]:
    """Each address that some library reads out of a text. A leading zero is octal to one and nothing to
    another."""
    if ":" in text:
        try:
            yield ipaddress.IPv6Address(text)
        except ValueError:
            return
        return
    parts = text.split(".")
    for with_octal in (True, False):
        numbers = [_number(part, with_octal) for part in parts]
        whole = _joined([number for number in numbers if number is not None])
        if None not in numbers and whole is not None:
            yield ipaddress.IPv4Address(whole)


def _number(part: str, with_octal: bool) -> int | None:
    if re.fullmatch(r"0x[0-9a-f]*", part):
        return int(part[2:] or "0", 16)
    if with_octal and re.fullmatch(r"0[0-7]+", part):
        return int(part, 8)
    return int(part) if re.fullmatch(r"[0-9]+", part) else None


def _joined(numbers: list[int]) -> int | None:
    """One to four numbers, of which the last fills the bytes that are left."""
    if not 1 <= len(numbers) <= 4:
        return None
    *first, last = numbers
    room = 8 * (4 - len(first))
    if any(number > 255 for number in first) or last >= 1 << room:
        return None
    whole = 0
    for number in first:
        whole = whole << 8 | number
    return whole << room | last


# What may run, be asked and be read. The operator and the configuration grant; a data file never does.
# Pure rules: whoever touches the world asks here first, with paths already resolved.


_CONTROLS = lazy_pattern(r"[\x00-\x1f\x7f]")


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


@frozen
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
            hint = f"pass --allow-host {host_of(where)}, or add it to `allow_hosts:` in baselinekit.yaml"
            raise Refused(Problem("BK401", f"requests to {where} are not allowed", hint))
        self.check_address(url)
        for name, secret in secrets:
            hosts = (*secret.hosts, *(self.allow_hosts or ()))
            if where not in self.named_origins and not any(host_matches(where, host) for host in hosts):
                what = f"the secret {name} would go to {where}, which only the file names"
                hint = f"allow it yourself: --allow-host {host_of(where)}, or `hosts:` of the secret"
                raise Refused(Problem("BK402", what, hint))

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
                raise Refused(must_be_named(where, address, "a link-local address or cloud metadata"))
        elif network is NetworkKind.PRIVATE and self.ci:
            where = origin(url)
            if not self.names(where):
                raise Refused(must_be_named(where, address, "in a private network"))

    def names(self, where: str, exactly: bool = False) -> bool:
        """Whether the operator or the configuration names an origin. `exactly`: no `*.` will do."""
        hosts = [host for host in self.allow_hosts or () if not (exactly and "*" in host)]
        named = where in self.named_origins or where in self.configured_origins
        return named or any(host_matches(where, host) for host in hosts)

    def check_program(self, program: str) -> None:
        """May this program, which the configuration does not name, be run?"""
        if not self.allow_exec:
            name = os.path.basename(program).split(".")[0] or "name"
            what = f"the program {program!r} is not named in the configuration"
            hint = f"add it under `commands:` in baselinekit.yaml ({name}: [{program}]), or pass --allow-exec"
            raise Refused(Problem("BK403", what, hint))


def must_be_named(where: str, address: str | None, what: str) -> Problem:
    leads = where if address is None or f"//{address}:" in where else f"{where} leads to {address}, which"
    if "link-local" in what:
        why = f"{leads} is {what}, and the configuration does not name that address"
        hint = (
            "if it is meant, name the address itself in baselinekit.yaml: base_url, variables or allow_hosts"
        )
        return Problem("BK407", why, hint)
    short = where.removesuffix(f":{_DEFAULT_PORTS[where.partition('://')[0]]}")
    why = f"{leads} is {what}, and in CI only what the configuration names may be reached there"
    hint = (
        f"name it in baselinekit.yaml, such as `variables: {{internal_url: {short}}}` (base_url, "
        "environments and allow_hosts count too; `capture --allow` does it), or pass --allow-host "
        f"{host_of(where)}"
    )
    return Problem("BK407", why, hint)


def _host(url: str) -> str:
    """The host as it is written; where it cannot be told, `origin` refuses."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


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
            below = os.path.normpath(step)
            if below != root and not below.startswith(root.rstrip(os.sep) + os.sep):
                raise _outside(shown)
            here, step = root, below[len(root) :].lstrip(os.sep)
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


def _outside(shown: str) -> Refused:
    return Refused(Problem("BK404", f"{shown} leads out of the project", "use a path inside the project"))


def origin(url: str) -> str:
    """`scheme://host:port`, lower case, the port always there. What two readers could take for two hosts is
    refused: a request would go where nobody looked."""
    where = _origin(url)
    if where is None:
        what = "a URL does not say unambiguously where it leads"  # nor is it shown: it may hold a password
        hint = (
            "write http://host:port/path, with no user, blank, backslash or control character; "
            "credentials go into `auth:` of the recipe (-u NAME:PASSWORD with --secret)"
        )
        raise Refused(Problem("BK405", what, hint))
    return where


def origins_in(values: Iterable[object]) -> frozenset[str]:
    """The origins of those values that are URLs."""
    found = (_origin(value) for value in values if isinstance(value, str))
    return frozenset(where for where in found if where is not None)


@lru_cache(maxsize=1024)
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
    found = []
    for name, argv in commands.items():
        program = name_of_program(argv[0]) if argv else ""
        bare = program in _INTERPRETERS and all(word.startswith("-") for word in argv[1:])
        if argv and (bare or program in _READERS or imports_from_its_folder(argv)):
            found.append(name)
    return sorted(found)


def runs_script(argv: Sequence[str], file: str, root: str) -> bool:
    """Whether a program of the configuration is this very file of the project, by itself or read by an
    interpreter. Their paths have to be the same: what a link leads to is not named by that."""
    if is_read(argv):
        word = argv[1]
    else:
        word = argv[0] if argv and os.sep in argv[0] else ""
    return bool(word) and os.path.normpath(os.path.join(root, word)) == os.path.normpath(
        os.path.join(root, file)
    )


def is_read(argv: Sequence[str]) -> bool:
    """Whether the second word is a script that the first one reads."""
    return len(argv) > 1 and name_of_program(argv[0]) in _INTERPRETERS


def name_of_program(program: str) -> str:
    """Without its folder and version."""
    return re.sub(r"[0-9.]+$", "", os.path.basename(program).lower().removesuffix(".exe"))


def imports_from_its_folder(argv: Sequence[str]) -> bool:
    """Whether a Python looks for modules first in the folder that it runs in, which is the checkout's: so it
    does with `-m` and `-c`, unless `-P` or `-I` stands before."""
    if not argv or name_of_program(argv[0]) not in _PYTHONS:
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
