"""Passes an answer that names the city. With a word, also one with that word in it."""

import json
import re
import sys

asked = sys.stdin.read()
form = re.search(r"same nonce: (\{.*\})", asked, re.DOTALL)[1]
form = json.loads(re.sub(r": (<[^<>]*>)", r': "\1"', form))
output = re.search(r"<<<output (\w+)>>>\n(.*)\n<<<end of output \1>>>", asked, re.DOTALL)[2]
passed = any(word in output for word in ["is Canberra", *sys.argv[1:]]) or output == "Canberra"
score = 5 if passed else 1
form.update(scores=dict.fromkeys(form["scores"], score), overall_score=score, passed=passed)
print(json.dumps(form))
