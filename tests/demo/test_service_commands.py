"""The commands that the demo shows are the commands that it runs, whatever the width of the terminal."""

import shlex

from hypothesis import given, strategies as st

from baselinekit.cli.demo import format_command

WORDS = st.lists(st.sampled_from(["capture", "--id", "a b", "-q", "x" * 60, "it's", "--input", "k=v w"]))


@given(WORDS, st.integers(40, 200))
def test_format_command_is_read_by_a_shell_as_the_command(words: list[str], width: int) -> None:
    lines = format_command(words, width)
    joined = "\n".join(lines).replace("\\\n", "")  # as a shell does, which Python's reader does not
    assert shlex.split(joined.removeprefix("$ ")) == ["baselinekit", *words]
    assert all(line.endswith(" \\") for line in lines[:-1])


def test_format_command_keeps_an_option_and_its_value_together() -> None:
    words = ["capture", "prompt", "x.md", "--parse", "json", "--input", "message=My order 4711 never arrived"]
    assert format_command(words, 60) == [
        "$ baselinekit capture prompt x.md --parse json \\",
        "    --input 'message=My order 4711 never arrived'",
    ]
