"""Benchmarks of nsacc and of others' attention."""

import os

# Records have the time of compiling.
os.environ["NSACC_CACHE"] = "off"
os.environ["NSACC_TUNE"] = "off"
