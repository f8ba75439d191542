"""A person's filters of a page, kept under a name."""

from collections.abc import Mapping

from core.clock import Clock
from core.curation.desk import at_desk
from core.db import Database
from core.errors import NotAllowedError, UserError
from core.ids import stable_id
from core.people.permissions import Action
from core.tables import SavedView

_LONGEST_NAME = 60


def save_view(database: Database, *, page: str, name: str, query: Mapping[str, str], actor: str, clock: Clock) -> str:
    """Keep a view; one of the same name is replaced. Returns its id.

    Args:
        database: where views are kept.
        page: which page it is of.
        name: what the person calls it, 1 to 60 characters.
        query: the page's parameters in the address.
        actor: whose view it is.
        clock: tells the time.

    Raises:
        UserError: the name is empty or too long.
    """
    shown = " ".join(name.split())
    if not 0 < len(shown) <= _LONGEST_NAME:
        raise UserError("Give the view a name of 1 to {most} characters.", most=_LONGEST_NAME)
    view_id = stable_id("view", page, actor, shown)
    with at_desk(database, Action.SAVE_VIEW, actor, clock) as desk:
        desk.check()
        view = SavedView(
            id=view_id, page=page, owner=actor, name=shown, query=dict(sorted(query.items())), changed_at=clock()
        )
        desk.session.merge(view)
        desk.record(view_id, page=page, name=shown, query=view.query)
    return view_id


def delete_view(database: Database, *, view_id: str, actor: str, clock: Clock) -> None:
    """Forget a view.

    Raises:
        UserError: there is no such view (any more).
        NotAllowedError: it is somebody else's.
    """
    with at_desk(database, Action.DELETE_VIEW, actor, clock) as desk:
        desk.check()
        view = desk.session.get(SavedView, view_id)
        if view is None:
            raise UserError("This saved view is gone already.")
        if view.owner != actor:
            raise NotAllowedError("This view belongs to {owner}. Nothing was changed.", owner=view.owner)
        desk.session.delete(view)
        desk.record(view_id, page=view.page, name=view.name)
