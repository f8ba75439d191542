"""From a reward to a grade (design section 7)."""

from typing import Literal

from core.settings import AgentSettings

Grade = Literal["pass", "marginal", "fail"]


def grade(reward: float, settings: AgentSettings) -> Grade:
    """Grade a reward: ``pass`` from ``pass_reward`` on, ``fail`` up to ``fail_reward``, else ``marginal``."""
    if reward >= settings.pass_reward:
        return "pass"
    return "fail" if reward <= settings.fail_reward else "marginal"
