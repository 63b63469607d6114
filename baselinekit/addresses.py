"""Which network an address is in, and which address a host is a spelling of.

A URL can write 169.254.169.254 as 2852039166, 0xA9FEA9FE, 0251.0376.0251.0376, 169.254.43518,
[::ffff:a9fe:a9fe] and in many more ways, and each library reads some of them. Whoever connects asks about the
address that was resolved; only where nobody has resolved it yet, the text of the host is read here."""

import ipaddress
import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from unicodedata import normalize
from urllib.parse import unquote


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


def is_address(host: str) -> bool:
    """Whether the text of a host is an address in some spelling, and no name."""
    return any(True for _ in _readings(_plain(host)))


def _plain(host: str) -> str:
    text = normalize("NFKC", unquote(host[:_LONGEST].translate(_DOTS))).lower()
    return text.strip("[]").partition("%")[0].rstrip(".")


def _network(address: _Address) -> NetworkKind:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return _network(address.ipv4_mapped)
    inner = [_own(one) for one in _carried(address)] if isinstance(address, ipaddress.IPv6Address) else []
    return max([_own(address), *inner])


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
