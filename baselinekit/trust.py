"""What may run, be asked and be read. The operator and the configuration grant; a data file never does.

Pure rules: whoever touches the world asks here first, with paths already resolved.
"""

import os.path
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from baselinekit.errors import Problem, Refused
from baselinekit.variables import Secret

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Trust:
    """`allow_hosts`: None = any. `named_origins`: those that the operator or the configuration named, by a
    variable, a base_url or a host; only there may a secret go."""

    allow_hosts: tuple[str, ...] | None = None
    named_origins: frozenset[str] = frozenset()
    allow_exec: bool = False

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
        for name, secret in secrets:
            hosts = (*secret.hosts, *(self.allow_hosts or ()))
            if where not in self.named_origins and not any(host_matches(where, host) for host in hosts):
                raise Refused(
                    Problem(
                        "BK402",
                        f"the secret {name} would go to {where}, which only the file names",
                        f"name it yourself: --allow-host {host_of(where)}, or `hosts:` of the secret",
                    )
                )

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


def check_inside(root: str, path: str, shown: str) -> None:
    """Does a path stay inside the project? Both come resolved (links followed)."""
    if os.path.commonpath([root, path]) != root:
        raise Refused(
            Problem("BK404", f"{shown} leads out of the project", "keep what a file names inside it")
        )
    if ".git" in os.path.relpath(path, root).lower().split(os.sep):
        raise Refused(Problem("BK404", f"{shown} leads into .git", "keep what a file names outside it"))


def origin(url: str) -> str:
    """`scheme://host:port`, lower case, the port always there. What two readers could take for two hosts is
    refused: a request would go where nobody looked."""
    where = _origin(url)
    if where is None:
        raise Refused(
            Problem(
                "BK405",
                "a URL does not say plainly where it leads",  # nor is it shown: it may hold a password
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


def _name_of(program: str) -> str:
    return os.path.basename(program).split(".")[0] or "name"
