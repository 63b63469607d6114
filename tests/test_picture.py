"""The picture in README.md shows what the tool prints today."""

import re
from xml.etree import ElementTree

import picture
import pytest
from picture import Run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return picture.scene(tmp_path_factory.mktemp("picture") / "shop")


def test_the_picture_on_file_is_what_the_commands_print_today(printed: str) -> None:
    assert picture.PICTURE.read_text("utf-8") == picture.svg(printed), "run: make picture"


def test_the_scene_is_a_capture_a_pass_and_a_failure(printed: str) -> None:
    shown = re.sub(r"\x1b\[[\d;]*m", "", printed)
    assert shown.startswith(
        "$ baselinekit capture http GET 'http://127.0.0.1:8080/api/v1/users?per_page=1' --id users\n"
    )
    assert (
        shown.index("1 passed in 0.01s")
        < shown.index("# the service is upgraded")
        < shown.index("FAILED  users")
    )
    assert "{" not in shown, "a word for what differs from run to run is left"


def test_the_readme_shows_it() -> None:
    assert "(docs/picture.svg)" in (picture.ROOT / "README.md").read_text("utf-8")


def test_every_word_stands_at_its_column_and_none_is_lost() -> None:
    lines = ["plain  \x1b[1;31mbold < red\x1b[0m end", "", "  \x1b[2mdim\x1b[0m"]
    root = ElementTree.fromstring(picture.svg("\n".join(lines)))
    texts = [(text.get("x"), text.get("y"), text.get("class"), text.text) for text in root.iter(f"{SVG}text")]
    assert texts == [
        ("20.0", "34", None, "plain"),
        ("78.8", "34", "bold red", "bold < red"),
        ("171.2", "34", None, "end"),
        ("36.8", "74", "dim", "dim"),
    ]


def test_a_line_is_cut_where_its_looks_change() -> None:
    assert list(picture.runs("a\x1b[32mbc\x1b[0m d")) == [
        Run(0, "a", ""),
        Run(1, "bc", "green"),
        Run(3, " d", ""),
    ]


def test_a_colour_that_the_picture_does_not_know_is_an_error() -> None:
    with pytest.raises(KeyError):
        list(picture.runs("\x1b[35mx"))


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_is_legible_on_its_background(theme: str) -> None:
    """WCAG 2 asks for a contrast of 4.5 for text; ours has 5 in both themes."""
    light, _, dark = picture.STYLE.partition("@media")
    rules = dict(re.findall(r"([.\w]+) \{ fill: (#[0-9a-f]{6})", {"light": light, "dark": dark}[theme]))
    background = luminance(rules.pop("rect"))
    assert set(rules) == {"text", ".dim", ".red", ".green", ".yellow", ".cyan"}
    for name, colour in rules.items():
        lighter, darker = sorted((luminance(colour), background), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 5, name
