"""Checks that each shape's fastest schedule was kept: MANY.json of nsacc tune --json, and what
nsacc tune export wrote behind it."""

import json
import sys

many, exported = (json.load(open(path)) for path in sys.argv[1:])
kept = {entry["tuned"]["sizes"]: entry["tuned"]["schedule"] for entry in exported
        if "tuned" in entry}
for shape in many["shapes"]:
    fastest = min(range(len(shape["ms"])), key=lambda index: shape["ms"][index] or 1e9)
    assert kept[shape["sizes"]] == many["schedules"][fastest], (shape, kept)
