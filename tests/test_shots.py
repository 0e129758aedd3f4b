"""Every window, page and dialog, photographed: no widget without a name, no cut text, nothing outside its window.

Pictures with stored data are compared with references, in tests/data/pictures: coarse, because fonts differ. After an
intended change, look at the pictures of ``make shots`` and write them anew with ``python -m tests.test_shots``.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from tests import shots

REFERENCES = Path(__file__).parent / "data" / "pictures"
PARTS = (64, 40)
"""Columns and rows to which a picture is reduced before it is compared."""

MEAN = 4.0
"""Largest mean difference of the grey levels (0 to 255) of the parts."""

LARGEST = 90
"""Largest difference of one part: text that moves by a line."""

COMPARED = (
    "library-several", "library-groups", "compare-two", "compare-27-runs", "charts-scaling", "measure-2-parameters",
    "queue-side-by-side",
)  # fmt: skip


def _parts(path: Path) -> bytes:
    whole = QImage(str(path))
    reduced = whole.scaled(*PARTS, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
    grey = reduced.convertToFormat(QImage.Format.Format_Grayscale8)  # kept: its bits are not copied by constBits()
    return bytes(grey.constBits())


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["light", "dark-1024", "light-large-text"])
def test_every_picture_is_whole_and_as_it_was(tmp_path: Path, variant: str) -> None:
    shots.main(tmp_path, variant)
    assert (tmp_path / f"problems-{variant}.txt").read_text() == ""
    for reference in sorted(REFERENCES.glob(f"*.{variant}.png")):
        pairs = list(zip(_parts(tmp_path / reference.name), _parts(reference), strict=True))
        differences = [abs(one - other) for one, other in pairs]
        assert sum(differences) / len(differences) < MEAN, reference.name
        assert max(differences) < LARGEST, reference.name


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("light", "dark-1024"):
            shots.main(Path(folder), name)
        for found in Path(folder).glob("*.png"):
            if found.name.partition(".")[0] in (sys.argv[1:] or COMPARED):
                QImage(str(found)).scaledToWidth(320, Qt.TransformationMode.SmoothTransformation).save(
                    str(REFERENCES / found.name)
                )
