"""Pack the samples of the library in the first argument in small steps, and print each once it is on disk."""

import sys
from pathlib import Path

from app.store import packed_samples
from app.store.store import Store

packed_samples.STEP = 50
for done, total in Store(Path(sys.argv[1])).pack_samples():
    sys.stdout.write(f"{done} {total}\n")
    sys.stdout.flush()
