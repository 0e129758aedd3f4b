"""fio-snia: the tests of the SNIA Solid State Storage Performance Test Specification, in rounds until steady state."""
