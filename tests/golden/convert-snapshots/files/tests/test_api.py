import pytest
from syrupy.filters import props
from syrupy.matchers import path_type


class TestUsers:
    @pytest.mark.parametrize("role", ["admin", "read only"])
    def test_list(self, role, snapshot):
        assert users(role) == snapshot
        assert roles() == snapshot


def test_new(snapshot):
    assert user() == snapshot(matcher=path_type({"id": (UUID,)}), exclude=props("token"))


def test_page(snapshot):
    assert page() == snapshot(name="html")


def test_handle(snapshot):
    assert handle() == snapshot
