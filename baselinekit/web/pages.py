"""The page as one file that needs no server: its modules one after the other, and what it shows as data."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from baselinekit.files.jsontext import encode
from baselinekit.model.values import Json

_FOLDER = Path(__file__).parent / "static"
_IMPORT = re.compile(r"(?m)^import .* from \"\./([\w-]+\.js)\";\n")
_EXPORT = re.compile(r"(?m)^export (?=(?:async )?function|const|class)")


def joined(name: str, seen: set[str] | None = None) -> str:
    """A module behind those that it imports, as one script."""
    seen = set() if seen is None else seen
    seen.add(name)
    text = (_FOLDER / name).read_text("utf-8")
    before = [joined(other, seen) for other in _IMPORT.findall(text) if other not in seen]
    return "".join(before) + _EXPORT.sub("", _IMPORT.sub("", text))


def static_page(data: Json) -> str:
    """The review as one file that loads nothing and sends nothing, and exports the decisions. Only our own
    style and script run in it; the data is text that the script reads, in which nothing can end it."""
    style, script = (_FOLDER / "page.css").read_text("utf-8"), joined("static.js")
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
    policy += "img-src data:; base-uri 'none'; form-action 'none'"
    text = encode(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    page = (_FOLDER / "index.html").read_text("utf-8")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
    end = (
        f'<script type="application/json" id="data">{text}</script>\n<script type="module">{script}</script>'
    )
    page = re.sub(r"<link .*>\n", lambda _: head, page, count=1)
    page = re.sub(r"<script .*</script>", lambda _: end, page, count=1)
    return page.replace("<title>baselinekit</title>", "<title>Review – baselinekit</title>")
