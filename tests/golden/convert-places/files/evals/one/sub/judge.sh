grep -q "Add: 1+1" && echo "{\"score\": 1}" || echo "{\"score\": 0}"
