"""Says YES to what has a word of the weather in it; of what is unsure every other time the opposite."""

import re
import sys
from hashlib import sha256
from pathlib import Path

asked = sys.stdin.read()
query = re.search(r"<<<query (\w+)>>>\n(.*)\n<<<end of query \1>>>", asked, re.DOTALL)[2]
asked_before = Path(".baselinekit", "asked-" + sha256(query.encode()).hexdigest()[:8])
times = asked_before.stat().st_size if asked_before.exists() else 0
asked_before.parent.mkdir(exist_ok=True)
asked_before.write_text("x" * (times + 1))
decided = bool(re.search("weather|rain", query)) != bool(re.search("not sure|perhaps", query) and times % 2)
print(f"DECISION={'YES' if decided else 'NO'} REASON=It is what the words say.")
