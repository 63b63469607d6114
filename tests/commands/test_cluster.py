"""A Dask cluster: where it may be, and who is sent secrets."""

from types import SimpleNamespace
from typing import Any

import pytest

from baselinekit.commands.cluster import Cluster, Sealed, check_place, is_private_address
from baselinekit.errors import InvalidInput, Refused

CLOSED = (
    "tcp://127.0.0.1:8786 tcp://[::1]:8786 localhost:8786 inproc://10.0.0.5/1/2 tls://10.0.0.5:8786 wss://a:1"
)
OPEN = "tcp://10.0.0.5:8786 10.0.0.5:8786 ws://10.0.0.5:8786 tcp://localhost.example.com:8786 tcp://[fd00::5]:8786"


def test_is_private_address_is_true_only_for_this_machine_and_what_is_encrypted() -> None:
    assert [address for address in CLOSED.split() if not is_private_address(address)] == []
    assert [address for address in OPEN.split() if is_private_address(address)] == []


def cluster(*workers: str, is_private: bool = True) -> Cluster:
    client: Any = SimpleNamespace(
        scheduler=SimpleNamespace(address="tcp://127.0.0.1:8786"), nthreads=lambda: dict.fromkeys(there, 1)
    )
    there = list(workers)
    found = Cluster(client, is_private, 4, lambda chunk, grant: pytest.fail("nothing is sent"), Sealed(b""))
    there.append("tcp://10.0.0.5:2")  # it comes later
    return found


def test_cluster_refuses_secrets_to_workers_with_an_open_connection() -> None:
    """A tunnel to the scheduler does not lead to its workers."""
    private, open_one = "tcp://127.0.0.1:1", "tcp://10.0.0.5:1"
    for workers in ([private, open_one], [open_one]):
        with pytest.raises(Refused) as refused:
            cluster(*workers)
        assert refused.value.problems[0].code == "BK409"
        assert open_one in refused.value.problems[0].message
    assert cluster(private).admitted() == [private]
    assert cluster(open_one, is_private=False).admitted() == [open_one, "tcp://10.0.0.5:2"]


def test_check_place_accepts_only_an_address_or_a_number_of_workers() -> None:
    for place in ("tls://10.0.0.5:8786", "scheduler:8786", "local:1", "local:512", "tcp://[::1]:8786"):
        check_place(place)
    for place in ("", "local", "local:0", "local:513", "scheduler", "http://x:1", "a b:1"):
        with pytest.raises(InvalidInput, match="neither"):
            check_place(place)
