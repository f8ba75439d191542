"""A help desk: which team can solve this ticket?"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from core.environments.protocol import Action, StepResult, TaskSpec, ToolSpec

TEAMS = ("orders", "claims", "identity")
TICKETS = {  # task type -> the customer's words, and the team that can solve it (the agent never sees the team)
    "damaged": ("The parcel arrived crushed and the lamp is broken. I want my money back.", "claims"),
    "cancelled": ("I cancelled before you shipped anything. I want my money back.", "orders"),
    "moved": ("I moved house and changed my e-mail; now I cannot see my orders.", "identity"),
}


class HelpDesk:
    name = "help_desk"
    background = "Tickets arrive at a help desk with three teams: orders, claims and identity."
    scoring = "1 if the team can solve the ticket, 0 if it sends the ticket back."
    tools = (
        ToolSpec(
            "assign",
            "Hand the ticket to a team.",
            {"type": "object", "properties": {"team": {"type": "string", "enum": TEAMS}}, "required": ["team"]},
        ),
    )
    task_types = tuple(TICKETS)

    def tasks(self) -> Iterator[TaskSpec]:
        """Twelve days of tickets; the last four are held out, so that they are later than all training."""
        for day in range(12):
            for hour, (kind, (words, _)) in enumerate(TICKETS.items()):
                moment = datetime(2026, 1, 1, 9 + hour, tzinfo=UTC) + timedelta(days=day)
                yield TaskSpec(f"{kind}-{day}", kind, words, moment, "train" if day < 8 else "held_out")

    def reset(self, task: TaskSpec, seed: int) -> str:
        """Begin a ticket; the query says it all, so there is nothing more to see."""
        self._right_team = TICKETS[task.type][1]
        return ""

    def step(self, action: Action) -> StepResult:
        """Hand the ticket over. A wrong tool or team is a failed call, never an exception."""
        team = action.arguments.get("team")
        if action.tool != "assign" or team not in TEAMS:
            return StepResult("Call assign with one of: " + ", ".join(TEAMS), failed=True)
        solved = team == self._right_team
        return StepResult("Solved." if solved else "Sent back.", reward=float(solved), done=True)
