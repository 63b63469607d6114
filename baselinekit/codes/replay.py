"""replay"""

from baselinekit.codes import Code

CODES: dict[str, Code] = {}
