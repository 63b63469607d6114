"""Hash functions for names and fingerprints, from Python's own code.

hashlib loads OpenSSL, which takes a fortieth of what a command takes to start. For much data it is the faster
one, and the right one to import."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        try:
            from _sha2 import sha256
        except ImportError:  # Python 3.11
            from _sha256 import sha256
    except ImportError:  # another Python, or one that was built without them
        from hashlib import blake2b, sha256

__all__ = ("blake2b", "sha256")
