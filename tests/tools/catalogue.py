"""Brings the Chinese catalogue up to date with the source: ``python -m tests.tools.catalogue``.

Keeps what is translated, adds new texts untranslated, drops texts nobody uses, and names what is missing.
"""

from datetime import UTC, datetime

from babel.messages import Catalog, pofile

from tests.support.messages import ROOT, Text, texts_in_use

CATALOGUE = ROOT / "data" / "locale" / "zh" / "LC_MESSAGES" / "rulewright.po"


def update(catalogue: Catalog, texts: dict[Text, str]) -> Catalog:
    """Return a catalogue of exactly these texts, in the order of their places, with the old translations."""
    fresh = Catalog(
        locale="zh",
        project="Rulewright",
        header_comment="# Chinese texts of Rulewright. The English text is the key.",
        charset="utf-8",
        fuzzy=False,
        creation_date=catalogue.creation_date,
        revision_date=datetime.now(UTC),
    )
    for text, _ in sorted(texts.items(), key=lambda item: (item[1], item[0])):
        known = catalogue.get(text.one)
        translated = "" if known is None or not known.string else known.string
        first = translated if isinstance(translated, str) else translated[0]
        fresh.add((text.one, text.many) if text.many else text.one, (first,) if text.many else first)
    return fresh


def main() -> None:
    with CATALOGUE.open("rb") as source:
        fresh = update(pofile.read_po(source, locale="zh"), texts_in_use())
    with CATALOGUE.open("wb") as target:
        pofile.write_po(target, fresh, width=110)
    for message in fresh:
        if message.id and not any(message.string):
            print("untranslated:", message.id)


if __name__ == "__main__":
    main()
