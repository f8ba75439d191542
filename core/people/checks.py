"""May this person do this now? Said in words if not."""

from core.errors import NotAllowedError, Terms, UserError
from core.people.names import ACTION_NAMES, ROLE_NAMES, STATE_NAMES
from core.people.permissions import PERMISSIONS, Action, Role, may


def check_role(roles: frozenset[Role], action: Action) -> None:
    """Raise unless one of the roles allows the action.

    Raises:
        NotAllowedError: names the roles that would.
    """
    if not may(roles, action):
        wanted = sorted(PERMISSIONS[action].roles | {Role.ADMIN})
        raise NotAllowedError(
            "Your account may not do this: {action}. It takes one of these roles: {roles}. Nothing was changed.",
            action=Terms((ACTION_NAMES[action],)),
            roles=Terms(tuple(ROLE_NAMES[role] for role in wanted)),
        )


def check_state(action: Action, state: str) -> None:
    """Raise unless the action is possible for an object in this state.

    Raises:
        UserError: names the states in which it would be.
    """
    wanted = PERMISSIONS[action].states
    if state not in wanted:
        raise UserError(
            "“{action}” is not possible here any more: the state is {state}, and it takes {states}. "
            "Nothing was changed.",
            action=Terms((ACTION_NAMES[action],)),
            state=Terms((STATE_NAMES[state],)),
            states=Terms(tuple(STATE_NAMES[one] for one in sorted(wanted))),
        )
