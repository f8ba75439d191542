import pytest

from core.rules.polarity import directives


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Check the logs and restart the service", [(1, "VERIFY"), (1, "RESTART")]),
        ("do not restart the service before checking the logs", [(-1, "RESTART"), (1, "VERIFY")]),
        ("roll back instead of restarting", [(1, "ROLLBACK"), (-1, "RESTART")]),
        ("restarting does not help", [(-1, "RESTART")]),
        ("avoid scaling down", [(-1, "SCALE_DOWN")]),
        ("cancel the order without asking", [(1, "CANCEL"), (-1, "ASK")]),
        ("refuse the refund", [(1, "REFUSE"), (-1, "REFUND")]),
        ("verify the backup before running it", [(1, "VERIFY")]),
        ("不要重启服务", [(-1, "RESTART")]),
        ("先回滚，而不是重启", [(1, "ROLLBACK"), (-1, "RESTART")]),
        ("不要在检查日志之前重启服务", [(-1, "RESTART"), (1, "VERIFY")]),
        ("未经用户确认不得取消订单", [(-1, "CANCEL"), (1, "VERIFY")]),
        ("无需再次验证", [(-1, "VERIFY")]),
        ("do not only restart the service", [(1, "RESTART")]),
        ("do not forget to verify the backup", [(1, "VERIFY")]),
        ("never leave the backup unverified", [(1, "VERIFY")]),
        ("不仅要重启服务", [(1, "RESTART")]),
        ("issue no refund", [(-1, "REFUND")]),
        ("不重启服务", [(-1, "RESTART")]),
        ("重启别名服务", [(1, "RESTART")]),
        ("refund the order only if the manager approves", [(1, "REFUND"), (1, "APPROVE")]),
        ("只有经理批准才退款", [(1, "REFUND"), (1, "APPROVE")]),
        ("除非经理批准，否则不得退款", [(-1, "REFUND"), (1, "APPROVE")]),
    ],
)
def test_directives(text: str, expected: list[tuple[int, str]]) -> None:
    assert [(directive.polarity, directive.act) for directive in directives(text)] == expected


def test_a_prohibition_until_something_is_conditional() -> None:
    assert directives("do not restart before checking the logs")[0].conditional
    assert not directives("never restart the database")[0].conditional
