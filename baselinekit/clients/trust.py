"""What may be run, requested and read. Only the operator and the configuration grant it, never a data
file."""

import ipaddress
import os.path
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import takewhile
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from baselinekit.errors import Problem, Refused
from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.variables import Secret
from baselinekit.structs import Struct, replace

# Which network an address is in. Code that connects checks the resolved address; the text of the host is
# read here only if it has not been resolved yet. A URL can write 169.254.169.254 as 2852039166,
# 0251.0376.0251.0376 and in many more ways, which libraries read differently: such a host counts as
# link-local.


class NetworkKind(IntEnum):
    """Ordered: the larger the value, the more permission a request to the network needs."""

    LOOPBACK = 0
    PUBLIC = 1
    PRIVATE = 2
    LINK_LOCAL = 3


_NETWORKS = {
    NetworkKind.LOOPBACK: "127.0.0.0/8 0.0.0.0/32 ::1/128 ::/128",  # 0.0.0.0 connects to this machine
    # link-local; metadata of Alibaba, Oracle, Azure, and over IPv6 of AWS and Google; IPv6 that leads to any
    # IPv4 address (6to4, Teredo, a local NAT64, the forms before it)
    NetworkKind.LINK_LOCAL: "169.254.0.0/16 fe80::/10 100.100.100.200/32 192.0.0.192/32 168.63.129.16/32 "
    "fd00:ec2::/32 fd20:ce::/64 2002::/16 2001::/32 64:ff9b:1::/48 ::/96 ::ffff:0:0:0/96",
    # with carrier-grade NAT, benchmarks, IETF protocols, this network, multicast, reserved
    NetworkKind.PRIVATE: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10 100.64.0.0/10 "
    "198.18.0.0/15 192.0.0.0/24 0.0.0.0/8 224.0.0.0/4 240.0.0.0/4 ff00::/8",
}
_TABLE = [(ipaddress.ip_network(text), kind) for kind, texts in _NETWORKS.items() for text in texts.split()]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METADATA = _words(
    """
    metadata.google.internal metadata.goog metadata.azure.internal metadata.azure.com
    metadata.tencentyun.com metadata.packet.net metadata.platformequinix.com instance-data
    instance-data.ec2.internal instance-data.amazonaws.com
    """
)
"""Names under which clouds serve metadata, for when somebody else, such as a proxy, resolves them."""

_NUMBERS = lazy_pattern(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = 0x5EFE
"""The third quarter of an IPv6 address that leads to the IPv4 address in its last quarter."""


@lru_cache(maxsize=1024)
def network_of(address: str) -> NetworkKind:
    """The network of a resolved address; a text that is not an address counts as link-local."""
    try:
        return _network(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return NetworkKind.LINK_LOCAL


@lru_cache(maxsize=1024)
def network_of_host(host: str) -> NetworkKind:
    """The network of a host judged by its text alone; a name does not tell it, and counts as public."""
    text = normalize("NFKC", unquote(host)).replace("。", ".").lower()
    text = text.strip("[]").partition("%")[0].rstrip(".")
    try:
        return _network(ipaddress.ip_address(text))
    except ValueError:
        is_unclear = text in _METADATA or _NUMBERS.fullmatch(text)
        return NetworkKind.LINK_LOCAL if is_unclear else NetworkKind.PUBLIC


def _network(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> NetworkKind:
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return _network(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
        if int(address) >> 32 & 0xFCFF_FFFF == _ISATAP:
            return NetworkKind.LINK_LOCAL
        address = address.ipv4_mapped or address
    kinds = (kind for net, kind in _TABLE if net.version == address.version and address in net)
    return next(kinds, NetworkKind.PUBLIC)


# What may be run, requested and read. These are pure rules: code that opens files, connects or runs programs
# asks here first, with paths already resolved.


_CONTROLS = lazy_pattern(r"[\x00-\x1f\x7f]")


_INTERPRETERS = _words(
    """
    python pypy sh bash zsh dash ksh fish csh tcsh busybox node nodejs deno bun ruby perl php lua luajit
    tclsh rscript r julia java groovy scala kotlin ghci erl elixir iex swift osascript pwsh powershell
    cmd ipython tsx ts-node ts-node-esm sqlite psql mysql
    """
)
"""The first argument of these is a script: if the configuration gives it, a data file may add arguments."""

_PROGRAM_RUNNERS = _words(
    """
    awk gawk mawk sed find xargs parallel env nice nohup timeout time watch sudo su doas ssh scp sftp
    rsync tar zip cpio git hg svn less more man vi vim nvim emacs nano ed ex gdb lldb strace ltrace make
    gmake cmake ninja npm yarn pnpm pip pip3 pipx cargo go mvn gradle ant rake bundle gem composer
    docker podman kubectl helm terraform ansible ansible-playbook curl wget nmap socat nc ncat openssl
    dd install crontab at batch systemd-run unshare nsenter chroot setsid stdbuf script expect tmux
    screen just task pytest tox nox uv poetry pipenv npx pnpx bunx
    """
)
"""With these an argument (`tar --to-command`, `git -c`) or a file that they find decides what is run or
read."""

_PYTHONS = _words("python pypy ipython")

_FALSE_WORDS = frozenset(("", "0", "false"))
_CI_VARIABLES = _words(
    """
    GITHUB_ACTIONS GITLAB_CI TF_BUILD BUILDKITE TEAMCITY_VERSION JENKINS_URL CIRCLECI TRAVIS APPVEYOR DRONE
    WOODPECKER_CI BITBUCKET_BUILD_NUMBER CODEBUILD_BUILD_ID SEMAPHORE CIRRUS_CI BITRISE_IO CM_BUILD_ID
    HARNESS_BUILD_ID GO_PIPELINE_NAME BUDDY CF_BUILD_ID bamboo_buildKey NEVERCODE GITEA_ACTIONS
    FORGEJO_ACTIONS
    """
)
"""Each is set by one CI system: GitHub, GitLab, Azure Pipelines, Buildkite, TeamCity, Jenkins …"""

_MAX_LINKS = 40  # the limit of Linux
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Trust(Struct):
    """`allow_hosts`: None = any. `named_origins`: those that the operator or the configuration named for this
    run, by a variable, a base_url or a host; secrets may be sent only there. `configured_origins`: all that
    appear anywhere in the configuration, including other environments. `ci`: whether a CI system runs
    this. `config_from`: the commit whose configuration counts, if not the checkout's."""

    allow_hosts: tuple[str, ...] | None = None
    named_origins: frozenset[str] = frozenset()
    allow_exec: bool = False
    configured_origins: frozenset[str] = frozenset()
    ci: bool = False
    config_from: str | None = None

    @property
    def configuration(self) -> str:
        """The configuration that counts, in messages."""
        as_of = f" as of {self.config_from} (--config-from)" if self.config_from else ""
        return f"the configuration{as_of}"

    def check_request(self, url: str, secrets: Iterable[tuple[str, Secret]] = ()) -> None:
        """Raise Refused if this request, with these secrets in it, may not be sent."""
        url_origin = origin(url)
        if self.allow_hosts is not None and not _matches_any(url_origin, self.allow_hosts):
            hint = f"pass --allow-host {host_of(url_origin)}, or add it to `allow_hosts:` in baselinekit.yaml"
            raise Refused(Problem("BK401", f"requests to {url_origin} are not allowed", hint))
        self.check_address(url)
        for name, secret in secrets:
            hosts = (*secret.hosts, *(self.allow_hosts or ()))
            if url_origin not in self.named_origins and not _matches_any(url_origin, hosts):
                message = f"the secret {name} would go to {url_origin}, which only the file names"
                hint = f"allow it yourself: --allow-host {host_of(url_origin)}, or `hosts:` of the secret"
                raise Refused(Problem("BK402", message, hint))

    def naming(self, url: str) -> "Trust":
        """The same trust, with this origin named by the operator or the configuration as well."""
        return replace(self, named_origins=self.named_origins | origins_in([url]))

    def allowing(self, url: str) -> "Trust":
        """The same trust, with requests to this origin allowed by the operator as well."""
        hosts = self.allow_hosts
        trust = self.naming(url)
        return trust if hosts is None else replace(trust, allow_hosts=(*hosts, host_of(origin(url))))

    def check_address(self, url: str, address: str | None = None) -> None:
        """Raise Refused if this request may not go to this address, which is about to be connected to.
        Without an address, before a look-up or if a proxy resolves the name, the text of the URL is judged.

        Link-local addresses, where clouds hand out credentials, have to be named themselves: the owner of a
        host name decides where it leads."""
        url_origin = origin(url)
        host = host_of(url_origin).rpartition(":")[0]
        network = network_of_host(host) if address is None else network_of(address)
        if network is NetworkKind.LINK_LOCAL:
            if not self.names(url_origin, exactly=True) or network_of_host(host) is not network:
                raise _unnamed_address(url_origin, address, "a link-local address or cloud metadata")
        elif network is NetworkKind.PRIVATE and self.ci and not self.names(url_origin):
            raise _unnamed_address(url_origin, address, "in a private network, which is closed in CI")

    def names(self, url_origin: str, exactly: bool = False) -> bool:
        """Whether the operator or the configuration names an origin. `exactly`: not by a `*.` pattern."""
        hosts = [host for host in self.allow_hosts or () if not (exactly and "*" in host)]
        return url_origin in self.named_origins | self.configured_origins or _matches_any(url_origin, hosts)

    def check_program(self, program: str) -> None:
        """Raise Refused if this program, which the configuration does not name, may not be run."""
        if not self.allow_exec:
            name = os.path.basename(program).split(".")[0] or "name"
            message = f"the program {program!r} is not named in {self.configuration}"
            hint = f"add it under `commands:` in baselinekit.yaml ({name}: [{program}]), or pass --allow-exec"
            raise Refused(Problem("BK403", message, hint))


def _unnamed_address(url_origin: str, address: str | None, kind: str) -> Refused:
    is_written = address is None or f"//{address}:" in url_origin
    subject = url_origin if is_written else f"{url_origin} leads to {address}, which"
    message = f"{subject} is {kind}, and the configuration does not name it"
    hint = "if it is meant, name it (metadata by its address) in baselinekit.yaml: base_url, variables, "
    hint += "environments or allow_hosts; or pass --allow-host"
    return Refused(Problem("BK407", message, hint))


def in_ci(environ: Mapping[str, str]) -> bool:
    """Whether a CI system runs this: `CI` decides if it is set, even to `false`; then the systems' own
    variables."""
    deciding = ["CI"] if environ.get("CI", "").strip() else _CI_VARIABLES
    return any(environ.get(name, "").strip().lower() not in _FALSE_WORDS for name in deciding)


def check_inside(root: str, path: str, shown_path: str) -> None:
    """Raise Refused if a path leaves the project. Both paths must be resolved (links followed)."""
    if path != root and not path.startswith(os.path.join(root, "")):
        raise _outside_error(shown_path)
    if ".git" in path[len(root) :].lower().split(os.sep):
        raise Refused(Problem("BK404", f"{shown_path} leads into .git", "use a path outside .git"))


def follow_links(
    root: str, start: str, path: str, link: Callable[[str], str | None], shown_path: str | None = None
) -> str:
    """Follow the links of a path in a data file, starting from a folder in the project; both folders must be
    resolved. It goes step by step and refuses the first step outside, so nothing outside is looked at, and
    the message does not reveal whether it exists. `link`: the target of a link, None if it is not a link."""
    shown_path = path if shown_path is None else shown_path
    check_inside(root, start, shown_path)
    current, remaining, links = start, [path], 0
    while remaining:
        step = remaining.pop()
        if os.path.isabs(step):
            normalized = os.path.normpath(step)
            check_inside(root, normalized, shown_path)
            current, step = root, normalized[len(root) :].lstrip(os.sep)
        first, _, rest = step.partition(os.sep)
        if rest:
            remaining.append(rest.lstrip(os.sep))
        if first in ("", "."):
            continue
        if first == "..":
            if current == root:
                raise _outside_error(shown_path)
            current = os.path.dirname(current)
            continue
        next_path = f"{current}{'' if current == os.sep else os.sep}{first}"
        if first.lower() == ".git":
            check_inside(root, next_path, shown_path)
        target = link(next_path)
        if target is None:
            current = next_path
            continue
        links += 1
        if links > _MAX_LINKS:
            return next_path  # a loop of links, which the system cannot open either
        remaining.append(target)
    return current


def _outside_error(shown_path: str) -> Refused:
    message = f"{shown_path} leads out of the project"
    return Refused(Problem("BK404", message, "use a path inside the project"))


def origin(url: str) -> str:
    """`scheme://host:port` in lower case, always with the port. A URL that two parsers could read as two
    different hosts is refused: a request might go to a host that was not checked."""
    result = _origin(url)
    if result is None:
        message = "a URL does not say unambiguously where it leads"  # not shown: it may hold a password
        hint = "write http://host:port/path, with no user, blank, backslash or control character; "
        hint += "credentials go into `auth:` of the recipe (-u NAME:PASSWORD with --secret)"
        raise Refused(Problem("BK405", message, hint))
    return result


def origins_in(values: Iterable[object]) -> frozenset[str]:
    """The origins of those values that are URLs."""
    origins = (_origin(value) for value in values if isinstance(value, str))
    return frozenset(url_origin for url_origin in origins if url_origin is not None)


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


def url_for_message(url: str) -> str:
    """Return a URL for a message: without credentials and query."""
    address, query, _ = url.partition("?")
    address = re.sub(r"//[^/]*@", "//…@", address)
    return f"{address}{'?…' if query else ''}"


def host_of(url_origin: str) -> str:
    return url_origin.split("://", 1)[1]


def _matches_any(url_origin: str, hosts: Iterable[str]) -> bool:
    return any(host_matches(url_origin, host) for host in hosts)


def host_matches(url_origin: str, allowed: str) -> bool:
    """`example.com` (any port), `example.com:8080`, `*.example.com`, `https://example.com`."""
    scheme, host_port = url_origin.split("://", 1)
    wanted_scheme, has_scheme, pattern = allowed.rpartition("://")
    if has_scheme and wanted_scheme.lower() != scheme:
        return False
    pattern = pattern.rstrip("/").lower()
    if pattern.count(":") > 1 and "[" not in pattern:
        pattern = f"[{pattern}]"
    host, _, port = host_port.rpartition(":")
    wanted_host, colon, wanted_port = pattern.rpartition(":")
    if not colon or not wanted_port.isdigit():
        wanted_host = pattern
    elif wanted_port != port:
        return False
    return host == wanted_host or (wanted_host.startswith("*.") and host.endswith(wanted_host[1:]))


def unrestricted_programs(commands: Mapping[str, Sequence[str]]) -> list[str]:
    """The named programs with which a data file can run anything, by further arguments or by files that they
    read. The lists are not complete: no one knows every program."""
    names = []
    for name, argv in commands.items():
        program = name_of_program(argv[0]) if argv else ""
        bare = program in _INTERPRETERS and all(word.startswith("-") for word in argv[1:])
        if argv and (bare or program in _PROGRAM_RUNNERS or imports_from_its_folder(argv)):
            names.append(name)
    return sorted(names)


def runs_script(argv: Sequence[str], file: str, root: str) -> bool:
    """Whether a program of the configuration is this very file of the project, run directly or by an
    interpreter. The paths have to be the same: naming a link does not name its target."""
    word = argv[0] if argv and os.sep in argv[0] else ""
    word = argv[1] if is_interpreted_script(argv) else word
    own, other = (os.path.normpath(os.path.join(root, path)) for path in (word, file))
    return bool(word) and own == other


def is_interpreted_script(argv: Sequence[str]) -> bool:
    """Whether the second word is a script that the first one interprets."""
    return len(argv) > 1 and name_of_program(argv[0]) in _INTERPRETERS


def name_of_program(program: str) -> str:
    """The name of a program without its folder and version."""
    return re.sub(r"[0-9.]+$", "", os.path.basename(program).lower().removesuffix(".exe"))


def imports_from_its_folder(argv: Sequence[str]) -> bool:
    """Whether a Python looks for modules first in its working folder, which is the checkout: it does so with
    `-m` and `-c`, unless `-P` or `-I` comes before."""
    words = argv if argv and name_of_program(argv[0]) in _PYTHONS else ()
    flags = takewhile(lambda word: not word.endswith(".py"), words[1:])
    deciding = (re.match(r"-[^WXmcPI]*([mcPI])", word) for word in flags)
    first = next(filter(None, deciding), None)
    return first is not None and first[1] in "mc"


def programs_from_checkout(
    commands: Mapping[str, Sequence[str]], is_file: Callable[[str], bool]
) -> dict[str, list[str]]:
    """The named programs that consist of files of the project, with these files: a pull request may have
    changed them, whatever commit the configuration is from. `is_file`: whether a word is such a file."""
    found = ((name, [*filter(is_file, argv)]) for name, argv in sorted(commands.items()))
    return {name: files for name, files in found if files}
