"""What messages say as texts: for models and judges that take no parts."""

from collections.abc import Iterator

from baselinekit.documents.jsontext import pretty
from baselinekit.model.values import Json


def plain_text(content: Json) -> str:
    """The content of a message as one text. A file stands below its name; other values are JSON."""
    if isinstance(content, str):
        return content
    if is_parts(content):
        return "\n\n".join(_texts(content))
    return "" if content is None else pretty(content, "  ")


def is_parts(content: Json) -> bool:
    """Whether a content is a list of texts and files, and not a value that happens to be a list."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and part.get("type") in ("text", "file") for part in content)
    )


def _texts(parts: Json) -> Iterator[str]:
    for part in parts:
        text = str(part.get("text", part.get("value", "")))
        yield f"=== {part.get('value', '')} ===\n{text}" if part["type"] == "file" else text
