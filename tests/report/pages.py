"""An HTML report as a browser reads it."""

from html.parser import HTMLParser
from pathlib import Path

from baselinekit.report.html import page

BREAKING = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)> </style><!-- ]]> &lt; \u2028\u2029 {{7*7}}"
)
EMPTY = {"meta", "input", "br"}
_FOLDER = Path(page.__file__).parent
STYLE, SCRIPT = ((_FOLDER / name).read_text("utf-8") for name in ("page.css", "page.js"))


class Page(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, balanced, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.verbatim: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in self.verbatim:
            self.verbatim[inside].append(data)
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [
            attributes for _, attributes in self.elements if name in (attributes.get("class") or "").split()
        ]
