"""A Dask cluster: where it may be, and who is sent secrets."""

from types import SimpleNamespace
from typing import Any

import pytest

from baselinekit.commands.cluster import Cluster, Sealed, check_place, is_private_address
from baselinekit.errors import InvalidInput, Refused


@pytest.mark.parametrize(
    ("address", "closed"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("127.0.0.1:8786", True),
        ("tcp://[::1]:8786", True),
        ("localhost:8786", True),
        ("inproc://10.0.0.5/1/2", True),
        ("tls://10.0.0.5:8786", True),
        ("wss://10.0.0.5:8786", True),
        ("tcp://10.0.0.5:8786", False),
        ("10.0.0.5:8786", False),
        ("ws://10.0.0.5:8786", False),
        ("ucx://10.0.0.5:8786", False),
        ("tcp://scheduler:8786", False),
        ("tcp://localhost.example.com:8786", False),
        ("tcp://[fd00::5]:8786", False),
        ("tcp://169.254.169.254:80", False),
    ],
)
def test_private_addresses(address: str, closed: bool) -> None:
    assert is_private_address(address) is closed


def cluster(*workers: str, is_private: bool = True) -> Cluster:
    client: Any = SimpleNamespace(
        scheduler=SimpleNamespace(address="tcp://127.0.0.1:8786"),
        nthreads=lambda: dict.fromkeys(there, 1),
    )
    there = list(workers)
    found = Cluster(client, is_private, 4, lambda chunk, grant: pytest.fail("nothing is sent"), Sealed(b""))
    there.append("tcp://10.0.0.5:2")  # it comes later
    return found


def test_secrets_go_only_to_workers_whose_connection_is_private() -> None:
    """A tunnel to the scheduler does not lead to its workers."""
    here, there = "tcp://127.0.0.1:1", "tcp://10.0.0.5:1"
    for workers in ([here, there], [there]):
        with pytest.raises(Refused) as refused:
            cluster(*workers)
        assert refused.value.problems[0].code == "BK409"
        assert there in refused.value.problems[0].message
    assert cluster(here).admitted() == [here]
    assert cluster(there, is_private=False).admitted() == [there, "tcp://10.0.0.5:2"]


@pytest.mark.parametrize(
    "place",
    ["tls://10.0.0.5:8786", "127.0.0.1:8786", "scheduler:8786", "local:1", "local:512", "tcp://[::1]:8786"],
)
def test_a_place_is_an_address_or_a_number_of_workers(place: str) -> None:
    check_place(place)


@pytest.mark.parametrize(
    "place", ["", "local", "local:0", "local:513", "local:-1", "scheduler", "http://x:1", "a b:1"]
)
def test_any_other_place_is_refused(place: str) -> None:
    with pytest.raises(InvalidInput, match="neither"):
        check_place(place)
