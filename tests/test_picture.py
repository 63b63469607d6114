"""The picture in README.md shows what the tool prints today."""

import picture
import pytest

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return picture.scene(tmp_path_factory.mktemp("picture") / "shop")


def test_picture_is_up_to_date(printed: str) -> None:
    assert picture.PICTURE.read_text("utf-8") == picture.svg(printed), "run: make picture"


def test_readme_shows_the_picture() -> None:
    assert "(docs/picture.svg)" in (picture.ROOT / "README.md").read_text("utf-8")
