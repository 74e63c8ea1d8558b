"""Programs compiled for GPUs on any machine: time, registers, spills, or the reason of a refusal.

`python -m sweep`, in the folder above with `nsacc` on the PATH, compiles all of `cases.full()`
and writes docs/Sweep.md and spills.json.
"""
