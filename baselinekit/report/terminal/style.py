"""How text is dressed for a terminal: all colours come from here."""

from dataclasses import dataclass

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True, slots=True)
class Style:
    """How text is dressed. Whether colours are wanted is decided by whoever knows the terminal."""

    colour: bool = False
    width: int = 100

    def paint(self, text: str, colours: str) -> str:
        if not self.colour or not text or not colours:
            return text
        codes = ";".join(_CODES[colour] for colour in colours.split())
        return f"\x1b[{codes}m{text}\x1b[0m"
