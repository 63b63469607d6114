"""Which proxy a request goes through: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY as everywhere, and
never one for this machine itself."""

import os
from collections.abc import Mapping

_OWN = frozenset(("localhost", "::1"))


def proxies_of_environment() -> dict[str, str]:
    found = {}
    for key in ("http", "https", "all", "no"):
        value = os.environ.get(f"{key}_proxy") or os.environ.get(f"{key.upper()}_PROXY")
        if value:
            found[key] = value
    return found


def proxy_for(scheme: str, host: str, proxies: Mapping[str, str]) -> str | None:
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or host in _OWN or host.startswith("127.") or _is_excepted(host, proxies.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_excepted(host: str, exceptions: str) -> bool:
    for entry in exceptions.replace(",", " ").split():
        name = entry.lower().rsplit("://", 1)[-1].lstrip("*").lstrip(".")
        name = name.partition(":")[0] if name.count(":") == 1 else name
        if entry == "*" or (name and (host == name or host.endswith(f".{name}"))):
            return True
    return False
