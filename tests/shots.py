"""Takes a picture of every window, page and dialog: ``python -m tests.shots FOLDER [VARIANT]``.

Each file tests/shots_*.py has a list SHOTS of names and functions that make the widget; a new page adds one.
"""

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def main(folder: Path, wanted: str) -> None:
    """Take the pictures of the variant `wanted`, or of all, each in a process: Qt reads the scale only once."""
    from tests.shot_stage import VARIANTS

    folder.mkdir(parents=True, exist_ok=True)
    if wanted:
        _take(folder, wanted)
        return
    for variant in VARIANTS:
        environment = os.environ | {"QT_SCALE_FACTOR": str(variant.scale)}
        words = [sys.executable, "-m", "tests.shots", str(folder), variant.name]
        subprocess.run(words, check=True, env=environment, cwd=HERE.parent)


def _take(folder: Path, wanted: str) -> None:
    from PySide6.QtWidgets import QApplication

    from tests.shot_stage import VARIANTS, stage, take
    from widgets import theme

    variant = next(variant for variant in VARIANTS if variant.name == wanted)
    application = QApplication([])
    theme.apply(application)
    for path in sorted(HERE.glob("shots_*.py")):
        with tempfile.TemporaryDirectory() as home, stage(Path(home), variant) as made:
            for taken in take(import_module(f"tests.{path.stem}").SHOTS, made, folder):
                print(taken)  # noqa: T201 (what the program was asked for)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "shots").resolve(), sys.argv[2] if len(sys.argv) > 2 else "")
