import json
import sys

print(json.load(sys.stdin)["input"][:0:-1] or "a", end="")  # forgets the first letter
