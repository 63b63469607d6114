"""Which network an address is in, in whatever spelling (F16)."""

import ipaddress
import socket

import pytest
from hypothesis import given, strategies as st

from baselinekit.clients.trust import NetworkKind, network_of, network_of_host


def words(text: str) -> list[str]:
    return text.split()


METADATA = words(
    """
    169.254.169.254 169.254.169.254. 169.254.43518 169.16689662 2852039166 2852039166. 0xA9FEA9FE
    0xa9fea9fe 0xa9.0xfe.0xa9.0xfe 0XA9.0XFE.0XA9.0XFE 0xa9.254.169.254 0xa9.0xfea9fe 0xa9.0xfe.0xa9fe
    10.1 10.0.1 0xa000001 167772161 012.0.0.1 192.168.257 3232235521 127.1 2130706433 0 00 0x0 1.1 256.1.1.1
    4294967296 [::10.0.0.1] [2002:c0a8:1::] [2002:808:808::] 0.1
    0251.0376.0251.0376 00000251.0376.0251.0376 025177524776 0251.254.0xa9.254 0251.0xfe.43518
    0169.0254.0169.0254 169.254.169.0254 [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::FFFF:A9FE:A9FE]
    [0:0:0:0:0:ffff:a9fe:a9fe] [0000:0000:0000:0000:0000:ffff:a9fe:a9fe] [::169.254.169.254]
    [::a9fe:a9fe] [::ffff:0:169.254.169.254] [64:ff9b::169.254.169.254] [64:ff9b::a9fe:a9fe]
    [64:ff9b:1::a9fe:a9fe] [2002:a9fe:a9fe::] [2002:a9fe:a9fe::1] [2001:0:a9fe:a9fe::] [2001::5601:5601]
    [fe80::5efe:169.254.169.254] [2001:db8::5efe:a9fe:a9fe] [2001:db8::200:5efe:a9fe:a9fe] [fe80::1]
    [FE80::1] [fe80::1%eth0] [fe80::1%25eth0] [febf::1] fe80::1 [fd00:ec2::254]
    [fd00:0ec2:0:0:0:0:0:254] [fd20:ce::254] 100.100.100.200 0x646464c8 1684301000 192.0.0.192
    168.63.129.16 169.254.170.2 169.254.0.23 169.254.0.0 169.254.255.255
    metadata.google.internal metadata.google.internal. METADATA.Google.Internal
    metadata.goog metadata.azure.internal metadata.tencentyun.com instance-data instance-data.ec2.internal
    １６９.２５４.１６９.２５４ 169。254。169。254 ⑯⑨.254.169.254 %31%36%39.254.169.254
    """
)
PRIVATE = words(
    """
    10.0.0.0 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255 198.18.0.1
    0.0.0.1 224.0.0.1 255.255.255.255 240.0.0.1 [fc00::1] [fd12:3456::1] [fec0::1] [ff02::1]
    [::ffff:10.0.0.1] [64:ff9b::10.0.0.1]
    """
)
LOOPBACK = words(
    "127.0.0.1 127.255.255.255 0.0.0.0 [::1] [::] [::ffff:127.0.0.1] [0:0:0:0:0:0:0:1] 127.0.0.1."
)
PUBLIC = words(
    """
    8.8.8.8 169.253.255.255 169.255.0.0 11.0.0.1 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0
    100.63.255.255 100.128.0.0 128.0.0.1 126.255.255.255 [2606:4700::1111] [2001:db8::1]
    [64:ff9b::8.8.8.8] [::ffff:8.8.8.8] [fbff::1] localhost api.example.com
    metadata.example.com 169.254.169.254.example.com metadata.google.internal.example.com
    1.2.3.4.5 0xg 10.x 09z a.b [::g] deadbeef
    """
)


KINDS = {
    NetworkKind.LINK_LOCAL: METADATA,
    NetworkKind.PRIVATE: PRIVATE,
    NetworkKind.LOOPBACK: LOOPBACK,
    NetworkKind.PUBLIC: PUBLIC,
}


@pytest.mark.parametrize("kind", KINDS)
def test_network_of_host_in_every_spelling(kind: NetworkKind) -> None:
    assert [host for host in KINDS[kind] if network_of_host(host) is not kind] == []


@pytest.mark.parametrize("text", ["", "nowhere", "1.2.3", "169.254.169.254.", "[::1]"])
def test_network_of_text_that_is_no_address_is_link_local(text: str) -> None:
    assert network_of(text) is NetworkKind.LINK_LOCAL


def spellings(number: int) -> list[str]:
    """One IPv4 address as libraries read it."""
    a, b, c, d = number >> 24, number >> 16 & 255, number >> 8 & 255, number & 255
    return [
        *(f"{a}.{b}.{c}.{d}", f"{number}", f"{number:#x}", f"0{number:o}", f"{a}.{b}.{c << 8 | d}"),
        *(f"{a:#x}.{b:#X}.{c}.{d}", f"0{a:o}.{b}.{c}.0{d:o}", f"{a}.{number & 0xFFFFFF:#x}"),
        *(f"[::ffff:{a}.{b}.{c}.{d}]", f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]"),
    ]


@given(
    st.one_of(
        st.integers(0, 2**32 - 1), st.integers(0xA9FE0000, 0xA9FEFFFF), st.integers(0x0A000000, 0x0AFFFFFF)
    )
)
def test_network_of_host_any_ipv4_spelling_is_no_more_trusted(number: int) -> None:
    plain = network_of(str(ipaddress.IPv4Address(number)))
    for text in spellings(number):
        assert network_of_host(text) >= plain, text
        assert network_of_host(text) in (plain, NetworkKind.LINK_LOCAL), text


@given(st.integers(0, 2**32 - 1), st.sampled_from(range(8)))
def test_network_of_host_reads_addresses_as_the_system_does(number: int, which: int) -> None:
    text = spellings(number)[which]
    system = socket.inet_ntoa(socket.inet_aton(text))
    assert network_of_host(text) >= network_of(system), text


@given(st.text(max_size=80))
def test_network_of_any_text_raises_nothing(host: str) -> None:
    network_of_host(host)
    network_of(host)
