"""The help: short, complete, and fetching nothing from anywhere."""

import re
import time

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

import resources
from app.checks.catalogue import catalogue, entry
from app.questions import RefusingAsker
from app.services import Workstation
from widgets.help_page import READING_WIDTH, TOPICS, HelpPage, text_of


@pytest.fixture
def page(qtbot: QtBot, workstation: Workstation) -> HelpPage:
    made = HelpPage(workstation, RefusingAsker())
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.quick(8)
@pytest.mark.parametrize("topic", TOPICS)
def test_each_topic_is_shown_under_its_title(page: HelpPage, topic: str) -> None:
    began = time.process_time()
    page.show_topic(topic)
    assert time.process_time() - began < 3.0  # a table that is laid out after each of its blocks takes 8
    assert page.browser.toPlainText().startswith(TOPICS[topic])


@pytest.mark.parametrize("topic", TOPICS)
def test_links_lead_to_topics_there_are(topic: str) -> None:
    links = re.findall(r"(?<!!)\[[^]]*\]\(([^)]*)\)", text_of(topic))
    names = [link.removesuffix(".md") for link in links]
    known = {f"check-{entry.id}" for entry in catalogue()} | set(TOPICS)
    assert set(names) <= known


def test_a_link_opens_its_topic(page: HelpPage) -> None:
    page.browser.anchorClicked.emit(QUrl("rules.md"))
    assert page.topics.currentItem().text() == TOPICS["rules"]
    page.browser.anchorClicked.emit(QUrl("file:///etc/passwd"))
    assert page.topics.currentItem().text() == TOPICS["rules"]


def test_a_topic_is_rendered_once(page: HelpPage, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []
    monkeypatch.setattr(page.browser, "setMarkdown", rendered.append)
    page.show_topic("rules")
    page.show_topic("check-few-trials")
    assert len(rendered) == 2
    page.topics.setCurrentRow(0)  # as by a click
    assert len(rendered) == 3


def test_each_check_has_a_page_of_its_own_words(page: HelpPage) -> None:
    page.show_topic("checks")
    overview = page.browser.toPlainText()
    for each in catalogue():
        assert each.id in overview
        page.show_topic(f"check-{each.id}")
        assert page.topics.currentItem().text() == "Checks"
        shown = page.browser.toPlainText()
        assert shown.startswith(each.title)
        assert each.variants[0].check.why.rstrip(".") in shown


def test_a_check_is_reached_and_left_by_links(page: HelpPage) -> None:
    page.show_topic("checks")
    page.browser.anchorClicked.emit(QUrl("check-few-trials.md"))
    assert page.browser.toPlainText().startswith(entry("few-trials").title)
    page.browser.anchorClicked.emit(QUrl("checks.md"))
    assert page.browser.toPlainText().startswith("Checks")
    page.show_topic("check-that-is-none")
    assert page.browser.toPlainText().startswith("Checks")


def test_nothing_is_loaded_from_anywhere(page: HelpPage) -> None:
    page.browser.setMarkdown("![picture](file:///etc/passwd)")
    assert bytes(page.browser.document().resource(2, QUrl("file:///etc/passwd"))) == b" "


def test_our_own_pictures_are_shown_as_wide_as_a_line(page: HelpPage) -> None:
    pictures = {name for topic in TOPICS for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", text_of(topic))}
    assert pictures
    for name in pictures:
        picture = page.browser.loadResource(2, QUrl(name))
        assert isinstance(picture, QImage)
        assert picture.deviceIndependentSize().width() <= READING_WIDTH
    assert bytes(page.browser.loadResource(2, QUrl("../pictures/../../pyproject.toml"))) == b" "


def test_the_glossary_has_every_word_the_window_uses() -> None:
    words = re.findall(r"^\| (\w+) \|", resources.read_text("help/words.md"), re.MULTILINE)
    assert {"Host", "Facts", "Plan", "Step", "Trial", "Finding", "Baseline", "Verdict"} <= set(words)
