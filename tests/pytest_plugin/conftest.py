"""What pytester's runs in this process share: it forgets what a run has imported, and the next one would
import it again."""

from importlib import import_module

for name in (
    "pytest_plugin.differing",
    "schema.complaints",
    "programs.process",
    "refresh.rows",
    "store.index",
):
    import_module(f"baselinekit.{name}")
