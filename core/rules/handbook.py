"""Reads a handbook (Markdown or plain text) into drafted rules (design section 11). Nothing is stored here.

Each line that is not blank ends up in a draft or in the list of what was not read, with the reason; so does each
sentence of a line that holds several. A table is read if its first column says when and its second what to do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.errors import UserError
from core.i18n import mark
from core.ids import stable_id
from core.rules.handbook_sentences import NO_ACTION, Statement, opens_sentence, read_sentence
from core.tables.rules import RuleContent
from core.text import clip, has_cjk

_NO_RULE_BELOW = mark("A heading without a rule below it.")
_NO_SENTENCE = mark("Code, a table's frame or a mark, but no sentence.")
_NOTHING_TO_LIMIT = mark("An exception without a rule before it.")

_MARKER = re.compile(
    r"^(?:[-*•·▪◦‣]\s+|[(（]?\d{1,3}[.)、）]\s*(?!\d)|[(（][一二三四五六七八九十]{1,3}[)）]\s*|[一二三四五六七八九十]{1,3}、\s*)"
)
_SENTENCE_END = re.compile(
    r"(?<=[。！？])\s*(?=\S)"
    r"|(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<=[.!?])\s+(?=[\"“'(`]?[A-Z\d])"
    r"|(?<=[；;])\s*(?=当|如果|若|一旦|每当|(?:[Ww]hen|[Ii]f)\b)"
)
_CJK_BREAK = re.compile(r"(?<=[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]) (?=[\u3000-\u303f\u3400-\u9fff\uff00-\uffef])")
_CONDITION_HEAD = re.compile(
    r"when|if|condition|case|situation|symptom|trigger|problem|当|如果|条件|情况|情形|症状|场景|问题",
    re.IGNORECASE,
)
_NAME_WORDS, _NAME_CHARACTERS, _NAME_CJK = 9, 70, 24
_LONGEST_TAG = 40
_LARGEST = 1_000_000

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["code", "html_block", "html_inline"])
"""Indented text is text: in a plain-text handbook it is no code."""


@dataclass(frozen=True)
class Drafted:
    """A rule as it was read. ``lines`` (from 1) hold all that went into it, its headings too.

    ``id`` is what the rule will have, so that the same sentence is never imported twice.
    """

    id: str
    draft: RuleContent
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Unread:
    """A sentence or line that is in no draft, with its lines (from 1); ``reason`` is a template to translate."""

    lines: tuple[int, ...]
    text: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """A whole handbook: rules in its order, and what is not in any of them."""

    drafts: tuple[Drafted, ...]
    unread: tuple[Unread, ...]


def decode_handbook(data: bytes) -> str:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or GB 18030.

    Raises:
        UserError: it is no text, or larger than a handbook is.
    """
    if len(data) > _LARGEST:
        raise UserError("The file has more than {most} kB. Cut it into chapters.", most=_LARGEST // 1000)
    encodings = ["utf-16"] if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ["utf-8-sig", "gb18030"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise UserError("This file is no text. Export the handbook as Markdown or plain text and try again.")


def read_handbook(text: str, domain: str) -> Reading:
    """Read a handbook.

    Args:
        text: Markdown or plain text.
        domain: of the rules.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    reader = _Reader(domain)
    for block in _blocks("\n".join(lines)):
        reader.take(block)
    in_drafts = {number for one in reader.drafts for number in one.lines}
    unread = [*reader.unread, *(one for one in reader.leading if not in_drafts.issuperset(one.lines))]
    seen = in_drafts.union(*(one.lines for one in unread))
    rest = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip() and number not in seen]
    unread += [Unread((number,), line, _NO_SENTENCE) for number, line in rest]
    return Reading(tuple(reader.drafts), tuple(sorted(unread, key=lambda one: one.lines)))


@dataclass(frozen=True)
class _Block:
    """A heading (``level`` 1 to 6), or a paragraph, item or cell (level 0), ``depth`` lists deep."""

    level: int
    depth: int
    lines: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Lead:
    """A heading, or a line such as "When the disk is full:", with the condition that it gives what follows."""

    condition: str
    numbers: tuple[int, ...]
    rank: int
    title: str = ""


@dataclass
class _Reader:
    domain: str
    drafts: list[Drafted] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    leading: list[Unread] = field(default_factory=list)
    _headings: list[_Lead] = field(default_factory=list)
    _leads: list[_Lead] = field(default_factory=list)
    _may_limit: bool = False

    def take(self, block: _Block) -> None:
        """Read one block, in the light of those before it."""
        if block.level:
            self._heading(block)
            return
        self._leads = [one for one in self._leads if one.rank < block.depth]
        for sentence, numbers in _sentences(block):
            self._sentence(sentence, numbers, block.depth)

    def _heading(self, block: _Block) -> None:
        title = " ".join(block.lines)
        self._headings = [one for one in self._headings if one.rank < block.level]
        self._leads, self._may_limit = [], False
        self.leading.append(Unread(block.numbers, title, _NO_RULE_BELOW))
        found, opened = read_sentence(title), read_sentence(f"{title}:")
        if found.condition and found.action:
            self._add(found, block.numbers)
        condition = "" if opened.action else opened.condition
        self._headings.append(_Lead(condition, block.numbers, block.level, title))

    def _sentence(self, sentence: str, numbers: tuple[int, ...], depth: int) -> None:
        above = next((one for one in (*reversed(self._leads), *reversed(self._headings)) if one.condition), None)
        found = read_sentence(sentence, above.condition if above else "")
        if found.exclusion and not found.action:
            self._limit(found.exclusion, sentence, numbers)
        elif found.problem:
            self._may_limit = False
            self.unread.append(Unread(numbers, sentence, found.problem))
        elif not found.action:
            self._leads.append(_Lead(found.condition, numbers, depth))
            self.leading.append(Unread(numbers, sentence, NO_ACTION))
        else:
            leading = above.numbers if above is not None and above.condition == found.condition else ()
            self._add(found, (*leading, *numbers))

    def _limit(self, exclusion: str, sentence: str, numbers: tuple[int, ...]) -> None:
        """Let an exception limit the rule right before it."""
        if not self._may_limit or self.drafts[-1].draft.exclusion:
            self.unread.append(Unread(numbers, sentence, _NOTHING_TO_LIMIT))
            return
        last = self.drafts.pop()
        self._add(Statement(last.draft.condition, last.draft.action, exclusion), (*last.lines, *numbers))

    def _add(self, found: Statement, numbers: Sequence[int]) -> None:
        section = self._headings[-1].title if self._headings else ""
        draft = RuleContent(
            name=_name(found.action),
            condition=found.condition,
            action=found.action,
            exclusion=found.exclusion,
            domain=self.domain,
            tags=[clip(section, _LONGEST_TAG)] if section else [],
        )
        rule_id = stable_id("rule", "handbook", self.domain, draft.condition, draft.action, draft.exclusion)
        lines = {number for one in self._headings for number in one.numbers} | set(numbers)
        known = next((one for one in self.drafts if one.id == rule_id), None)
        if known is not None:  # what is said twice is one rule that both places went into
            self.drafts[self.drafts.index(known)] = replace(known, lines=tuple(sorted(lines | set(known.lines))))
        else:
            self.drafts.append(Drafted(rule_id, draft, tuple(sorted(lines))))
        self._may_limit = known is None


def _blocks(text: str) -> Iterator[_Block]:
    tokens = _PARSER.parse(text)
    ends = {at: _closing(tokens, at) for at, token in enumerate(tokens) if token.type == "table_open"}
    level = depth = at = 0
    while at < len(tokens):
        token = tokens[at]
        if at in ends:
            yield from _rows(tokens[at : ends[at]], depth)
            at = ends[at]
        elif token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
        elif token.type in ("heading_open", "heading_close"):
            level = int(token.tag[1]) if token.nesting > 0 else 0
        elif token.type == "inline" and token.content.strip():
            yield _Block(level, depth, _visible_lines(token), _numbers(token))
        at += 1


def _closing(tokens: Sequence[Token], opening: int) -> int:
    return next(at for at in range(opening, len(tokens)) if tokens[at].type == "table_close")


def _rows(tokens: Sequence[Token], depth: int) -> Iterator[_Block]:
    """Read each row of a table as "When (first cell), (second cell)" if its heads say that it means this."""
    heads: list[str] = []
    row: list[Token] = []
    for token in tokens:
        if token.type == "inline":
            row.append(token)
        elif token.type == "tr_close":
            cells, numbers = [" ".join(_visible_lines(one)).strip() for one in row], _numbers(row[0])
            if heads and len(cells) > 1 and _CONDITION_HEAD.match(heads[0]) and all(cells[:2]):
                opener, comma = ("当", "时，") if has_cjk("".join(cells[:2])) else ("When ", ", ")
                yield _Block(0, depth, (f"{opener}{cells[0]}{comma}{cells[1]}",), numbers)
            heads, row = heads or cells, []


def _numbers(token: Token) -> tuple[int, ...]:
    first, end = token.map or (0, 0)
    return tuple(range(first + 1, end + 1))


def _visible_lines(token: Token) -> tuple[str, ...]:
    """Return what a reader of the page sees: without emphasis and link addresses."""
    parts = ("\n" if child.type in ("softbreak", "hardbreak") else child.content for child in token.children or ())
    return tuple("".join(parts).split("\n"))


def _sentences(block: _Block) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each sentence on one line, with the numbers of the lines that it stands in."""
    if len(block.lines) != len(block.numbers):  # a break within code or an address: not to be told apart
        block = replace(block, lines=(" ".join(block.lines),))
    for lines, numbers in _statements(block):
        text = "\n".join(lines)
        start = 0
        for cut in [*(match.span() for match in _SENTENCE_END.finditer(text)), (len(text), len(text))]:
            sentence = _on_one_line(text[start : cut[0]])
            if sentence:
                first, last = text.count("\n", 0, start), text.count("\n", 0, max(start, cut[0] - 1))
                yield sentence, numbers[first : last + 1] if len(lines) == len(numbers) else numbers
            start = cut[1]


def _statements(block: _Block) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield runs of lines, parted where a line begins a statement of its own although no blank line says so."""
    if len(block.lines) == 1:
        yield [_MARKER.sub("", block.lines[0].strip())], block.numbers
        return
    start = 0
    for at in range(1, len(block.lines) + 1):
        line = block.lines[at].strip() if at < len(block.lines) else ""
        before = block.lines[at - 1].rstrip()
        if at == len(block.lines) or _MARKER.match(line) or opens_sentence(line) or before.endswith((":", "：")):
            lines = [_MARKER.sub("", one.strip()) for one in block.lines[start:at]]
            yield lines, block.numbers[start:at]
            start = at


def _on_one_line(text: str) -> str:
    return _CJK_BREAK.sub("", " ".join(text.split()))


def _name(action: str) -> str:
    if has_cjk(action):
        return action if len(action) <= _NAME_CJK else action[:_NAME_CJK] + "…"
    words = action.split()
    short = clip(" ".join(words[:_NAME_WORDS]), _NAME_CHARACTERS).rstrip(" ,;:–-…")
    return short[:1].upper() + short[1:] + ("…" if len(short) < len(" ".join(words)) else "")
