import lit.formats

config.name = "nsacc-unit"
config.suffixes = []
config.test_source_root = config.nsacc_unittests_bin
config.test_exec_root = config.nsacc_unittests_bin
config.test_format = lit.formats.GoogleTest(".", "Tests")
