"""Writes two exported schedules, of which the second has other JSON at a field: tuned_entries.py
OUT [FIELD=JSON]."""

import json
import sys

TUNED = {"schedule": "keys=16", "whole": "a: keys=16", "sizes": "B=1", "policy": "quick",
         "date": "2026-11-27T15:00:00", "ms": 2.0, "spread_ms": [1.0, 3.0], "chosen_ms": 4.0,
         "error": 0.5, "measured": 1, "failed": 0, "clock_mhz": 0}

path, *changes = sys.argv[1:]
fields = {field: json.dumps(value) for field, value in TUNED.items()}
entries = []
for change in [None, *changes] if changes else [None, None]:
    if change:
        field, value = change.split("=", 1)
        fields[field] = value
    tuned = ", ".join(f'"{field}": {value}' for field, value in fields.items())
    key = json.dumps(f"tuned: 1\ncompiler: other\nkernel: f{len(entries)}\n")
    entries.append(f'{{"key": {key}, "tuned": {{{tuned}}}}}')
with open(path, "w") as file:
    file.write("[" + ", ".join(entries) + "]\n")
