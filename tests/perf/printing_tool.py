#!/usr/bin/env python3
"""Stands in for sysbench on a host: every line it prints carries, as its figure, the moment it was printed."""

import random
import sys
import time

LINES = 320
SHORTEST, LONGEST = 0.1, 0.25

if "--version" in sys.argv:
    sys.stdout.write("sysbench 1.0.20\n")
    sys.exit()
generator = random.Random(1)
for number in range(1, LINES + 1):
    # The distances vary, so that they cannot keep in step with the redraws.
    time.sleep(generator.uniform(SHORTEST, LONGEST))
    moment = time.clock_gettime(time.CLOCK_MONOTONIC)
    sys.stdout.write(f"[ {number}s ] thds: 1 eps: {moment:.4f} lat (ms,95%): 1.00\n")
    sys.stdout.flush()
