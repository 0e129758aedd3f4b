"""numpy, pandas and scipy are imported when they are first used, not with the modules that use them."""

import subprocess
import sys

MODULES = (
    "app.calibration.calibration, app.checks.before, app.checks.timing, app.comparison.compare, "
    "app.distributions.analyses, app.history, app.ranking.ranking, app.results, app.scaling.scaling"
)

PROGRAM = f"""
import sys
import {MODULES}
from app.numeric import np, special

heavy = ("numpy", "pandas", "scipy")
print([name for name in heavy if name in sys.modules])
print(float(np.sum(np.arange(4))), round(float(special.ndtr(0.0)), 3))
print([name for name in heavy if name in sys.modules])
"""


def test_heavy_modules_are_imported_on_first_use() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "6.0 0.5", "['numpy', 'scipy']"]
