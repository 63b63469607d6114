"""How a capture shows what it has learnt of a long text: the placeholders, and the words beside them."""

from baselinekit.cli.capturing import placeholders_of

STATS = "# Stats\nport: 6379\n" + "same: 1\n" * 30


def test_a_short_text_is_shown_whole() -> None:
    assert placeholders_of("/users/<<any_uuid>>/posts") == "/users/<<any_uuid>>/posts"


def test_of_a_long_text_the_placeholders_are_shown() -> None:
    text = f"{STATS}commands_processed: <<any_number>>\n{STATS}bytes_in: <<any_number>> in all\n{STATS}"
    assert placeholders_of(text) == (
        " … commands_processed: <<any_number>> … bytes_in: <<any_number>> in all … "
    )


def test_of_very_many_the_first_are_shown() -> None:
    shown = placeholders_of(STATS + "".join(f"k{n}: <<any_number>>\n" for n in range(20)))
    assert shown.count("<<any_number>>") == 6
    assert shown.endswith(" and 14 more")
