"""The forms of eval files, one module per form. The most general come first: an item is of the last form that
recognises it."""

from baselinekit.store import records
from baselinekit.suites.dialects import agentv, agentvforms, capability, eva, gates, regression, suite
from baselinekit.suites.dialects.dialect import Dialect

DIALECTS = (
    Dialect("gate", gates.read_item, gates.schema, gates.recognises, in_lists=False),
    Dialect("case", capability.read_item, capability.schema, capability.recognises, capability.WRAPPER),
    Dialect("regression", regression.read_item, regression.schema, regression.recognises, records.WRAPPER),
    Dialect("test_cases", capability.read_file, capability.file_schema, capability.recognises_file),
    Dialect("prompt_cases", eva.read_item, eva.schema, eva.recognises, in_lists=False),
    Dialect(
        "evalcases", agentv.read_item, agentvforms.schema, agentv.recognises, in_lists=False, in_lines=True
    ),
    Dialect("suite", suite.read_item, suite.schema, wrapper=suite.WRAPPER, in_lists=False),
)
