"""fio-snia: the tests of the Solid State Storage Performance Test Specification, round by round until steady."""
