import json
import sys

with open("told.txt", "a") as file:
    file.write(json.load(sys.stdin)["text"] + "\n")
