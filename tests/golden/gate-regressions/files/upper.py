import json
import sys

print(json.load(sys.stdin)["input"].upper(), end="")
