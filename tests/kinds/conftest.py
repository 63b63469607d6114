"""Settings for replays, with fake clients and with real ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from replay_world import FakeClients, RawServer

from baselinekit.clients.http import Client
from baselinekit.clients.programs.process import Processes
from baselinekit.clients.trust import Trust
from baselinekit.kinds.settings import Clients, Setting
from baselinekit.model.recipes import HttpDefaults, Surroundings
from baselinekit.secrets.variables import Redactor, Scope
from baselinekit.structs import replace


@pytest.fixture
def raw() -> Iterator[RawServer]:
    server = RawServer()
    yield server
    server.close()


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client(proxies={})
    yield client
    client.close()


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    """Nothing is configured, nothing is granted, and the clients are fake."""
    folder = tmp_path / "project" / "baselines"
    folder.mkdir(parents=True)
    return Setting(
        Surroundings(root=str(folder.parent), folder=str(folder)),
        Scope(),
        Trust(),
        Redactor({}),
        HttpDefaults(),
        FakeClients().clients,
    )


@pytest.fixture
def real(setting: Setting, client: Client) -> Iterator[Setting]:
    processes = Processes()
    yield replace(setting, clients=Clients(client.send, processes.execute, client.sleep))
    processes.cancel()
