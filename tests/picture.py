"""The picture at the head of README.md: a terminal as SVG, drawn from what the commands really print.

    make picture        draws docs/picture.svg again

The commands run against the demo service, which is upgraded between the second and the third. Ports and
durations differ from run to run, so the picture shows fixed ones: drawing it again gives the same bytes.
tests/test_picture.py fails when the file differs from what is drawn today."""

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from console import ROOT, Console, console

PICTURE = ROOT / "docs/picture.svg"
TITLE = "baselinekit compare finds that a field was renamed and a number became a text"
ADDRESS = "http://127.0.0.1:8080"
DURATION = " 0.01s"

CAPTURE = "baselinekit capture http GET '{url}/api/v1/users?per_page=1' --id users"
COMPARE = "baselinekit compare"
UPGRADE = "# the service is upgraded"

FONT_SIZE = 14
COLUMN = 8.4  # the width of one character, 0.6 of the font size, as in most monospaced fonts
LINE = 20
MARGIN = 20

COLOURS = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}
"""What each escape code of the tool's own output is called in the style sheet."""

STYLE = """
    rect { fill: #ffffff; stroke: #d1d9e0; }
    text { fill: #1f2328; }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
    .bold { font-weight: 700; }
    .dim { fill: #59636e; }
    .red { fill: #c21c2c; }
    .green { fill: #116b30; }
    .yellow { fill: #855900; }
    .cyan { fill: #0b6b78; }
    @media (prefers-color-scheme: dark) {
      rect { fill: #0d1117; stroke: #3d444d; }
      text { fill: #e6edf3; }
      .dim { fill: #9198a1; }
      .red { fill: #ff7b72; }
      .green { fill: #56d364; }
      .yellow { fill: #e3b341; }
      .cyan { fill: #56d4dd; }
    }
"""

_WORDS = re.compile(r"\S+(?: \S+)*")
_ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


@dataclass(frozen=True, slots=True)
class Run:
    """A part of a line whose characters look alike."""

    column: int
    text: str
    classes: str


def scene(folder: Path) -> str:
    """The commands and all that they print, with the escape codes of the colours."""
    with console(folder, "demo", zone="UTC0") as terminal:
        parts = [_typed(terminal, CAPTURE), _typed(terminal, COMPARE, "--color always")]
        terminal.service.upgrade()
        parts += [f"\x1b[2m{UPGRADE}\x1b[0m\n", _typed(terminal, COMPARE, "--color always")]
    return "\n".join(parts)


def _typed(terminal: Console, command: str, hidden: str = "") -> str:
    """One command as it looks on a terminal. `hidden` asks for what a terminal would get by itself."""
    printed = terminal.run(f"{command} {hidden}".rstrip(), together=True).stdout
    shown = f"\x1b[1m$ {command}\x1b[0m\n{printed}"
    return shown.replace("{url}", ADDRESS).replace(" {seconds}s", DURATION)


def svg(printed: str) -> str:
    """What a terminal would show, as an SVG document."""
    lines = printed.rstrip("\n").split("\n")
    columns = max(len(_ESCAPE.sub("", line)) for line in lines)
    width, height = round(columns * COLUMN) + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    drawn = [element for number, line in enumerate(lines) for element in _drawn(line, number)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="title">',
            f'  <title id="title">{escape(TITLE)}</title>',
            f"  <style>{STYLE}  </style>",
            f'  <rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def _drawn(line: str, number: int) -> Iterator[str]:
    """One element for each stretch of words: where several blanks follow, a viewer may show them as one."""
    baseline = MARGIN + number * LINE + FONT_SIZE
    for run in runs(line):
        classes = f' class="{run.classes}"' if run.classes else ""
        for words in _WORDS.finditer(run.text):
            x = round(MARGIN + (run.column + words.start()) * COLUMN, 1)
            length = round(len(words[0]) * COLUMN, 1)
            yield f'  <text x="{x}" y="{baseline}" textLength="{length}"{classes}>{escape(words[0])}</text>'


def runs(line: str) -> Iterator[Run]:
    """A line cut wherever its looks change."""
    cells: list[tuple[str, str]] = []
    classes = ""
    position = 0
    for match in _ESCAPE.finditer(line):
        cells += [(classes, character) for character in line[position : match.start()]]
        codes = [code for code in match[1].split(";") if code not in ("", "0")]
        classes = " ".join(COLOURS[code] for code in codes)
        position = match.end()
    cells += [(classes, character) for character in line[position:]]
    column = 0
    for looks, group in groupby(cells, key=lambda cell: cell[0]):
        text = "".join(character for _, character in group)
        yield Run(column, text, looks)
        column += len(text)


def draw() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return svg(scene(Path(folder) / "shop"))


if __name__ == "__main__":
    import known

    known.settle()
    PICTURE.write_text(draw(), "utf-8")
