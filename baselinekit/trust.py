"""What may run, be asked and be read. The operator and the configuration grant; a data file never does.

Pure rules: whoever touches the world asks here first, with paths already resolved.
"""

import os.path
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from baselinekit.errors import Problem, Refused
from baselinekit.variables import Secret

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
                    f"allow it with --allow-host {host_of(where)}, or under `allow_hosts:` in the configuration",
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
    if ".git" in os.path.relpath(path, root).split(os.sep):
        raise Refused(Problem("BK404", f"{shown} leads into .git", "keep what a file names outside it"))


def origin(url: str) -> str:
    """`scheme://host:port`, lower case, the port always there."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme.lower(), 0)
    return f"{parts.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}"


def origins_in(values: Iterable[object]) -> frozenset[str]:
    """The origins of those values that are URLs."""
    return frozenset(
        origin(value)
        for value in values
        if isinstance(value, str) and value.startswith(("http://", "https://"))
    )


def host_of(where: str) -> str:
    return where.split("://", 1)[1]


def host_matches(where: str, allowed: str) -> bool:
    """`example.com` (any port), `example.com:8080`, `*.example.com`, `https://example.com`."""
    scheme, host_port = where.split("://", 1)
    wanted_scheme, found, rest = allowed.rpartition("://")
    if found and wanted_scheme.lower() != scheme:
        return False
    rest = rest.rstrip("/").lower()
    host, _, port = host_port.rpartition(":")
    wanted, colon, wanted_port = rest.rpartition(":")
    if not colon or not wanted_port.isdigit():
        wanted = rest
    elif wanted_port != port:
        return False
    return host == wanted or (wanted.startswith("*.") and host.endswith(wanted[1:]))


def _name_of(program: str) -> str:
    return os.path.basename(program).split(".")[0] or "name"
