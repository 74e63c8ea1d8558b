import glob
import os

import lit.formats

config.name = "nsacc-unit"
config.suffixes = []
config.test_source_root = config.nsacc_unittests_bin
config.test_exec_root = config.nsacc_unittests_bin
config.test_format = lit.formats.GoogleTest(".", "Tests")
# ptxas of scripts/setup; without it, tests of machine code are skipped.
config.environment["PATH"] = os.pathsep.join([
    config.environment["PATH"],
    *glob.glob(config.nsacc_source_root + "/.venv/lib/python*/site-packages/nvidia/cu*/bin"),
])
