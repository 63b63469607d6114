"""The values that the tests of a run compared with snapshots, as the plugin that recorded them hands them to
`convert --from pytest`."""

from collections.abc import Mapping

from baselinekit.model.values import Json, Path
from baselinekit.structs import Struct, field

PLUGIN = "baselinekit.pytest_plugin.taking"
OPTION = "--baseline-taken-to"
"""The plugin, and its option for the file where it writes them."""


class TakenValue(Struct):
    """One compared value. `code`: what the test compares it with; `file` and `line`: where it does; `output`:
    the value as a JSON text; `rules`: how it was compared; `lost`: why it cannot be kept."""

    code: str
    name: str | None
    file: str
    line: int
    output: str = "null"
    placeholders: tuple[tuple[Path, str], ...] = ()
    rules: Mapping[str, Json] = field(default_factory=dict)
    lost: str = ""


class TakenTest(Struct):
    """A test that compared values, or asked for a fixture that does. `name`: its node id without the file."""

    file: str
    name: str
    line: int
    passed: bool
    values: tuple[TakenValue, ...]
