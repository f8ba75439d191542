"""Nothing that people see escapes translation."""

import ast
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from babel.messages import pofile

from core.errors import Messages, UserError
from core.i18n import Translator, choose_language
from core.rules.quality import Finding
from tests.support.messages import ROOT, Text, texts_in_use

CATALOGUE = ROOT / "data" / "locale" / "zh" / "LC_MESSAGES" / "rulewright.po"
_SHOWING = {
    *(
        "title",
        "header",
        "subheader",
        "caption",
        "markdown",
        "text",
        "write",
        "info",
        "warning",
        "error",
        "success",
    ),
    *(
        "toast",
        "badge",
        "metric",
        "button",
        "form_submit_button",
        "checkbox",
        "toggle",
        "selectbox",
        "text_input",
    ),
    *(
        "text_area",
        "number_input",
        "segmented_control",
        "expander",
        "tabs",
        "page_link",
        "table",
        "dataframe",
    ),
}
_SHOWN_ARGUMENTS = {"label", "help", "placeholder", "title", "alt", "body", "delta_description"}


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def chinese() -> dict[str, str]:
    with CATALOGUE.open("rb") as source:
        catalogue = pofile.read_po(source, locale="zh")
    found = {}
    for message in catalogue:
        if message.id:
            key = message.id if isinstance(message.id, str) else message.id[0]
            found[key] = message.string if isinstance(message.string, str) else message.string[0]
    return found


def test_every_text_has_a_chinese_translation_with_the_same_places() -> None:
    translated = chinese()
    missing = {text.one: where for text, where in texts_in_use().items() if not translated.get(text.one)}
    assert not missing
    unlike = {text.one for text in texts_in_use() if places(translated[text.one]) != places(text.many or text.one)}
    assert not unlike


def test_the_catalogue_holds_no_text_that_nobody_uses() -> None:
    assert set(chinese()) <= {text.one for text in texts_in_use()}


def test_extraction_sees_calls_plurals_errors_and_stored_messages() -> None:
    found = texts_in_use()
    assert Text("Approve") in found
    assert Text("{n} turn", "{n} turns") in found
    assert Text("There is no adjustable setting {name}.") in found


@pytest.mark.parametrize("path", sorted((ROOT / "pages").glob("*.py")), ids=lambda path: path.name)
def test_pages_pass_no_bare_text(path: Path) -> None:
    assert not bare_texts(ast.parse(path.read_text(encoding="utf-8")))


def test_a_bare_text_is_found() -> None:
    assert bare_texts(ast.parse('st.button("Go")')) == [1]
    assert bare_texts(ast.parse('left.metric(t("Spend"), 3, help="All calls")')) == [1]
    assert bare_texts(ast.parse('st.caption(f"Round {n}")')) == [1]
    assert bare_texts(ast.parse('st.markdown(f"**{name}**")')) == []


def bare_texts(tree: ast.AST) -> list[int]:
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHOWING:
            # The first argument of a link is a page, not a text.
            first = [] if node.func.attr == "page_link" else node.args[:1]
            shown = [*first, *(one.value for one in node.keywords if one.arg in _SHOWN_ARGUMENTS)]
            lines += [node.lineno for one in shown if _is_bare(one)]
    return lines


def _is_bare(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and any(char.isalpha() for char in node.value)
    if isinstance(node, ast.JoinedStr):
        return any(_is_bare(part) for part in node.values if isinstance(part, ast.Constant))
    return isinstance(node, ast.List) and any(_is_bare(one) for one in node.elts)


@pytest.mark.parametrize(
    ("wishes", "language"),
    [
        (("zh", "en"), "zh"),
        ((None, "zh-Hant-TW"), "zh"),
        (("fr", None, "zh_CN"), "zh"),
        (("fr",), "en"),
        ((), "en"),
    ],
)
def test_the_first_wish_that_is_offered_wins(wishes: tuple[str | None, ...], language: str) -> None:
    assert choose_language(*wishes) == language


def test_rates_are_written_with_interval_and_n() -> None:
    assert Translator("en").interval(0.62, 0.49, 0.74, 60) == "0.62 (0.49–0.74, n = 60)"
    assert Translator("zh").interval(0.62, 0.49, 0.74, 60) == "0.62（0.49–0.74，n = 60）"


def test_what_was_found_is_said_in_the_readers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "It holds {what} ({text}).": "含有{what}（{text}）。",
        "a seat": "座位",
        "No. {problems}": "不行。{problems}",
    }
    t = Translator("zh")
    monkeypatch.setattr(t._catalogue, "gettext", lambda text: texts.get(text, text))
    finding = Finding("single_case", "It holds {what} ({text}).", {"what": "a seat", "text": "a seat"})
    stored = {"template": finding.template, "values": finding.values}
    assert t.message(stored) == "含有座位（a seat）。"
    error = UserError("No. {problems}", problems=Messages([finding, finding]))
    assert t.error(error) == "不行。含有座位（a seat）。 含有座位（a seat）。"
    assert str(error) == "No. It holds a seat (a seat). It holds a seat (a seat)."


def test_below_ten_is_too_few_to_tell() -> None:
    assert Translator("en").interval(1.0, 0.6, 1.0, 9) == "too few to tell (n = 9)"
    assert Translator("en").interval(None, None, None, 0) == "no data yet"


def test_numbers_money_and_moments_follow_the_language() -> None:
    moment = datetime(2026, 3, 1, 15, 30, tzinfo=UTC)
    english, china = Translator("en"), Translator("zh", ZoneInfo("Asia/Shanghai"))
    assert english.number(1234.5, 1) == "1,234.5"
    assert english.money(98.1) == "$98.10"
    assert china.money(98.1) == "US$98.10"
    assert china.moment(moment) == "2026年3月1日 23:30:00"
    assert english.duration(timedelta(hours=2, minutes=5)) == "2 hours 5 minutes"
    assert china.duration(timedelta(seconds=3)) == "3秒钟"


def test_plurals() -> None:
    english = Translator("en")
    assert english.plural("{n} turn", "{n} turns", 1) == "1 turn"
    assert english.plural("{n} turn", "{n} turns", 2) == "2 turns"
    assert Translator("zh").plural("{n} turn", "{n} turns", 2) == "2 轮对话"


def test_errors_are_said_in_the_language() -> None:
    error = UserError("There is no adjustable setting {name}.", name="gate.x")
    assert Translator("zh").error(error) == "没有可调整的设置 gate.x。"


def test_values_that_look_like_places_are_left_alone() -> None:
    assert Translator("en")("Reason: {reason}", reason="use {braces}") == "Reason: use {braces}"
    assert Translator("en")("Reason: {reason}") == "Reason: {reason}"
