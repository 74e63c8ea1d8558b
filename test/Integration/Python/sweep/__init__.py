"""Programs compiled for GPUs that needn't be there: time, registers, spills, or why not.

`python -m sweep`, in the folder above with `nsacc` on the PATH, compiles all of `cases.full()`
and writes docs/Sweep.md and spills.json.
"""
