import io
import uuid
from datetime import date

import pytest
from syrupy.filters import props
from syrupy.matchers import path_type


class TestUsers:
    @pytest.mark.parametrize("role", ["read only"])
    def test_list(self, role, snapshot):
        assert [{"role": role, "since": date(2024, 2, 29)}] == snapshot
        assert role.upper() == snapshot


def test_new(snapshot):
    rows = [{"token": str(uuid.uuid4()), "n": number} for number in range(2)]
    user = {"id": uuid.uuid4(), "rows": rows, "password": "hunter2hunter2"}
    assert user == snapshot(matcher=path_type({"id": (uuid.UUID,)}), exclude=props("token"))


def test_page(snapshot):
    assert "<h1>Ada</h1>\r\n" == snapshot(name="html")


def test_handle(snapshot):
    assert io.StringIO() == snapshot


def test_differs(snapshot):
    assert "new" == snapshot


@pytest.mark.skip
def test_skipped(snapshot):
    assert 1 == snapshot
