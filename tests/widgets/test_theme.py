"""One look for everything: readable, following the system or the user, and remembered."""

import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.report_image import sheet
from suites.units import Unit
from widgets import settings, theme
from widgets.plots.markers import shape_of
from widgets.plots.time_plot import TimePlot
from widgets.theme import DARK, LIGHT, Appearance, Palette, icon, pixmap, set_icon


@pytest.fixture(autouse=True)
def light(dressed: QApplication) -> None:
    theme.set_appearance(Appearance.LIGHT)


def _luminance(colour: str) -> float:
    """Return the relative luminance as WCAG 2.1 defines it."""
    parts = (QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF())
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_every_ground(colours: Palette) -> None:
    names, grounds = ("text", "muted", "accent", "info", "warning", "error", "good"), ("window", "surface", "raised")
    contrasts = {
        (name, ground): _contrast(getattr(colours, name), getattr(colours, ground))
        for name in names
        for ground in grounds
    }
    assert {pair: contrast for pair, contrast in contrasts.items() if contrast < 4.5} == {}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_selection_and_the_primary_button_can_be_read(colours: Palette) -> None:
    assert _contrast(colours.text, colours.selected) >= 4.5
    assert _contrast(colours.on_accent, colours.accent) >= 4.5


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_curve_stands_out_from_its_ground(dark: bool) -> None:  # noqa: FBT001 (a parameter of pytest)
    theme.set_appearance(Appearance.DARK if dark else Appearance.LIGHT)
    series = [theme.series_colour(index).name() for index in range(6)]
    # Okabe and Ito's orange and sky blue are lighter than that on white; labels tell them apart as well.
    contrasts = [_contrast(colour, theme.palette().surface) for colour in series]
    assert min(contrasts) >= (3.0 if dark else 2.2)
    assert len(set(series)) == 6


def test_each_curve_is_as_visible_in_dark_as_in_light() -> None:
    pairs = zip(theme.DARK_SERIES, theme.SERIES, strict=True)
    assert all(_contrast(dark, DARK.surface) >= _contrast(light, LIGHT.surface) for dark, light in pairs)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_stand_out_from_a_selected_row(colours: Palette) -> None:
    for name in (*theme.SEVERITIES, "muted"):
        assert _contrast(getattr(colours, name), colours.selected) >= 4.5, name


@pytest.mark.quick(1)
@pytest.mark.parametrize("appearance", [Appearance.LIGHT, Appearance.DARK])
def test_thirty_runs_have_thirty_looks(appearance: Appearance) -> None:
    theme.set_appearance(appearance)
    colours = [theme.series_colour(number) for number in range(36)]
    assert len({colour.name() for colour in colours}) == 36
    assert len({(number % 6, shape_of(colour)) for number, colour in enumerate(colours)}) == 36
    theme.set_appearance(Appearance.LIGHT)
    assert [sheet.series_colour(number).lower() for number in range(36)] == [
        theme.series_colour(number).name() for number in range(36)
    ]


def test_report_images_keep_the_colours_of_white_paper() -> None:
    theme.set_appearance(Appearance.DARK)
    assert tuple(sheet.series_colour(index) for index in range(6)) == theme.SERIES


def test_a_plot_follows_the_appearance(qtbot: QtBot) -> None:
    plot = TimePlot("IOPS", Unit.PER_SECOND)
    qtbot.addWidget(plot)
    plot.show()
    plot.add_series("a", "a", theme.series_colour(0))
    theme.set_appearance(Appearance.DARK)
    QApplication.processEvents()
    assert plot.lines["a"].colour.name().upper() == theme.DARK_SERIES[0]
    assert plot.lines["a"].curve.opts["pen"].color().name().upper() == theme.DARK_SERIES[0]
    theme.set_appearance(Appearance.LIGHT)
    QApplication.processEvents()
    assert plot.lines["a"].colour.name().upper() == theme.SERIES[0]


def test_the_choice_takes_effect_at_once_and_is_remembered(qapp: QApplication) -> None:
    theme.set_appearance(Appearance.DARK)
    assert theme.palette() is DARK
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(DARK.window)
    assert settings.text("appearance") == "dark"
    theme.set_appearance(Appearance.LIGHT)
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(LIGHT.window)


def test_a_broken_setting_means_the_systems_appearance() -> None:
    settings.put("appearance", "purple")
    assert theme.appearance() is Appearance.SYSTEM


def test_the_systems_colours_are_followed_only_where_the_user_chose_none(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints = qapp.styleHints()
    monkeypatch.setattr(type(hints), "colorScheme", lambda _hints: Qt.ColorScheme.Dark)
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.palette() is LIGHT
    theme.set_appearance(Appearance.SYSTEM)
    assert theme.palette() is DARK
    monkeypatch.setattr(type(hints), "colorScheme", lambda _hints: Qt.ColorScheme.Light)
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert theme.palette() is LIGHT


def _colours_in(button: QPushButton) -> set[str]:
    image = button.icon().pixmap(16, 16).toImage()
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return {pixel.name() for pixel in pixels if pixel.alpha() == 255}


def test_icons_are_drawn_anew_in_new_colours(qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    set_icon(button, "stop", "text")
    assert LIGHT.text in _colours_in(button)
    theme.set_appearance(Appearance.DARK)
    assert DARK.text in _colours_in(button)
    assert LIGHT.text not in _colours_in(button)


def test_an_icon_is_sharp_on_a_dense_screen() -> None:
    drawn = pixmap("hosts", 16, "text", 2.0)
    assert (drawn.width(), drawn.devicePixelRatio()) == (32, 2.0)
    assert not icon("hosts").isNull()


def test_plots_take_the_colours_in_force() -> None:
    theme.set_appearance(Appearance.DARK)
    theme.configure_plots()
    import pyqtgraph

    assert pyqtgraph.getConfigOption("background") == DARK.surface
    theme.set_appearance(Appearance.LIGHT)
    assert pyqtgraph.getConfigOption("background") == LIGHT.surface


def test_setting_a_text_loses_no_reference_to_none(qtbot: QtBot) -> None:
    """PySide6 6.12.0 on Python 3.11 drops one reference to None on every void call, and then crashes."""
    label = QLabel()
    qtbot.addWidget(label)
    label.setText("once")
    before = sys.getrefcount(None)
    for number in range(500):
        label.setText(str(number))
    assert abs(sys.getrefcount(None) - before) < 50
