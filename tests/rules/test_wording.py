import pytest

from core.rules.wording import rule_text, rule_units
from core.tables.rules import RuleContent


def rule(condition: str, action: str, exclusion: str = "") -> RuleContent:
    return RuleContent(name="A rule", condition=condition, action=action, exclusion=exclusion)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            rule("the disk is full", "rotate the logs", "the volume is read-only"),
            "When the disk is full, rotate the logs. Except the volume is read-only.",
        ),
        (rule("When if The disk is full.", "Rotate the logs.."), "When the disk is full, rotate the logs."),
        (rule("TLS fails", "Renew it", "unless it is new"), "When TLS fails, renew it. Except if it is new."),
        (rule("磁盘写满", "清理日志", "只读卷"), "当磁盘写满时，清理日志。例外：只读卷。"),
        (rule("当磁盘写满时", "清理日志。"), "当磁盘写满时，清理日志。"),
        (rule("请求超时", "检查依赖"), "当请求超时时，检查依赖。"),
    ],
)
def test_prompt_text(content: RuleContent, text: str) -> None:
    assert rule_text(content) == text


def test_units_leave_out_the_joining_words() -> None:
    assert rule_units(rule("the disk is full", "rotate the logs", "read-only volumes")) == 9
    assert rule_units(rule("磁盘写满", "清理日志")) == 8
