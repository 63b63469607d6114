"""Does it still answer as it did when we approved it?

PYTEST_DONT_REWRITE: prevents pytest's warning if the package is imported before pytest starts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # commands and tests import only what they use
    from baselinekit.errors import BaselinekitError as BaselinekitError
    from baselinekit.library.files import Baseline as Baseline, check as check, load as load, replay as replay
    from baselinekit.library.placeholders import *
    from baselinekit.library.values import serializer as serializer
    from baselinekit.library.verdicts import (
        Difference as Difference,
        Rules as Rules,
        Verdict as Verdict,
        compare as compare,
    )

_NAMES = {
    "errors": "BaselinekitError",
    "library.files": "Baseline check load replay",
    "library.placeholders": (
        "Placeholder any_array any_base64 any_boolean any_email any_hex any_integer any_ip any_iso_date "
        "any_iso_datetime any_jwt any_nonempty_string any_number any_object any_semver any_string any_time "
        "any_token any_unix_timestamp any_url any_uuid anything contains ends_with length number one_of "
        "placeholder regex starts_with"
    ),
    "library.values": "serializer",
    "library.verdicts": "Difference Rules Verdict compare",
}
"""The public names, by the module that has them."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import what `from baselinekit import …` asks for, when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module 'baselinekit' has no attribute {name!r}")
    return getattr(import_module(f"baselinekit.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
