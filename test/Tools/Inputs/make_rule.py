"""Makes a rule of an exported schedule, for the same calls with any lengths: make_rule.py EXPORTED
OUT [FIELD=JSON]. It says `T >= 117: 'a: keys=8'; else: 'a: keys=16'`, where no field has other
JSON."""

import json
import sys

RULE = {"dims": ["T"], "cases": [{"least": 117, "schedule": "a: keys=8"},
                                 {"least": 0, "schedule": "a: keys=16"}],
        "shapes": ["B=1, T=33", "B=1, T=400"], "held_out": [], "slowdown": 1.0,
        "held_out_slowdown": 1.0, "policy": "quick, eager, warm cache",
        "date": "2026-11-27T15:00:00"}

exported, out, *changes = sys.argv[1:]
with open(exported) as file:
    key = json.load(file)[0]["key"]
lines = [line for line in key.splitlines() if not line.startswith(("queries: ", "lengths: "))]
for change in changes:
    field, value = change.split("=", 1)
    RULE[field] = json.loads(value)
with open(out, "w") as file:
    json.dump([{"key": "\n".join(["rule: 1", *lines[1:], ""]), "rule": RULE}], file)
