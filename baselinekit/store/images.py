"""Pictures that were answered, kept in `.baselinekit/images/` under their hash, so that a review on this
machine can show the stored and the new one: a baseline has only the hash and the size of bytes."""

import os
from base64 import b64encode
from contextlib import suppress
from hashlib import sha256

from baselinekit.errors import BaselinekitError
from baselinekit.store import atomic
from baselinekit.store.project import read

_FOLDER = os.path.join(atomic.STATE_FOLDER, "images")
_MEDIA = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}
_LARGEST = 2_000_000
_MOST_FILES = 200


def _media_of(data: bytes) -> str:
    if data.startswith(b"RIFF") and data.startswith(b"WEBP", 8):
        return "webp"
    return next((media for start, media in _MEDIA.items() if data.startswith(start)), "")


def keep_image(root: str, data: bytes) -> None:
    """Keep a picture, and no other bytes. If it cannot be written, nothing fails: it is shown as its hash."""
    name = os.path.join(_FOLDER, sha256(data).hexdigest())
    if len(data) > _LARGEST or not _media_of(data) or os.path.exists(os.path.join(root, name)):
        return
    with suppress(BaselinekitError, OSError):
        atomic.write_state(root, name, data)
        files = [*os.scandir(os.path.join(root, _FOLDER))]
        for file in sorted(files, key=lambda file: file.stat().st_mtime)[:-_MOST_FILES]:
            os.unlink(file.path)


def image_of(root: str, digest: object) -> str | None:
    """Return a picture as a URL that holds it; None if it was not kept here."""
    name = os.path.join(_FOLDER, os.path.basename(str(digest)))
    try:
        data = read(root, name) if os.path.lexists(os.path.join(root, name)) else b""
    except BaselinekitError:
        return None
    media = _media_of(data)
    return f"data:image/{media};base64,{b64encode(data).decode()}" if media else None
