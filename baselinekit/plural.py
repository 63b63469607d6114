"""How many of something, as it is said: `1 case`, `1,204 cases`."""


def many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
