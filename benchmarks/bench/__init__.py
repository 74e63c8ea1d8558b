"""Benchmarks of nsacc and of others' attention."""

import os

# Records tell what compiling takes.
os.environ["NSACC_CACHE"] = "off"
os.environ["NSACC_TUNE"] = "off"
