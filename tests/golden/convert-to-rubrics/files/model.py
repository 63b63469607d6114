"""A model that drafts: three items, and for quicksort too few."""

import json
import re
import sys

asked = sys.stdin.read()
count = 2 if "quicksort" in asked else 3
items = [
    {"id": f"item-{n}", "expected_outcome": f"Says thing {n}: yes", "weight": 1 if n else 2.5, "required": not n}
    for n in range(count)
]
print(json.dumps({"nonce": re.search('"nonce": "(.+?)"', asked)[1], "rubrics": items}))
