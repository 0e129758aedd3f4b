"""Takes a picture of every window, page and dialog: ``python -m tests.shots FOLDER [VARIANT [MODULE...]]``.

What is wrong with a widget (no name, a cut text) is written to problems-VARIANT.txt.

Each file tests/shots_*.py has a list SHOTS of names and functions that make the widget; a new page adds one.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent

_INSIDE = "BENCHWRIGHT_TAKES_PICTURES"

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def main(folder: Path, wanted: str = "", modules: Sequence[str] = ()) -> None:
    """Take the pictures of the variant `wanted`, or of all, each in a process: Qt reads the scale only once.

    `modules` are those whose pictures are taken, such as ``shots_library``; all by default.
    """
    from tests.shot_stage import VARIANTS

    folder.mkdir(parents=True, exist_ok=True)
    for variant in VARIANTS:
        if wanted in {"", variant.name}:
            environment = os.environ | {"QT_SCALE_FACTOR": str(variant.scale), _INSIDE: "1"}
            words = [sys.executable, "-m", "tests.shots", str(folder), variant.name, *modules]
            subprocess.run(words, check=True, env=environment, cwd=HERE.parent)


def _take(folder: Path, wanted: str, modules: Sequence[str]) -> None:
    from PySide6.QtWidgets import QApplication

    from tests.shot_stage import VARIANTS, stage, take
    from widgets import theme
    from widgets.plots.accessible import install_accessible_roles

    variant = next(variant for variant in VARIANTS if variant.name == wanted)
    application = QApplication([])
    font = application.font()
    font.setPointSizeF(variant.text * font.pointSizeF())
    application.setFont(font)
    theme.apply(application)
    install_accessible_roles()
    problems = list[str]()
    for name in modules or sorted(path.stem for path in HERE.glob("shots_*.py")):
        with tempfile.TemporaryDirectory() as home, stage(Path(home), variant) as made:
            for taken in take(import_module(f"tests.{name}").SHOTS, made, folder):
                print(taken)  # noqa: T201 (what the program was asked for)
            problems += made.problems
    (folder / f"problems-{variant.name}.txt").write_text("".join(f"{one}\n" for one in problems))


if __name__ == "__main__":
    given = sys.argv[1:]
    work = _take if os.environ.get(_INSIDE) else main
    work(Path(given[0] if given else "shots").resolve(), given[1] if given[1:] else "", given[2:])
