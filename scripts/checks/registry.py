"""The checks that run over the repository, in the order of their cost."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

CHECKS = (
    "layering",
    "file_length",
    "module_names",
    "machine_words",
    "tested_flags",
    "verifier_messages",
    "spec_rules",
    "reader_list",
    "recipes",
    "remarks",
    "reasons",
    "rejections",
    "formatting",
    "prose",
    "readme",
)
