"""``demo-reset``: throw away what the demo with the simulated model made."""

from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.options import DatabaseOption

if TYPE_CHECKING:
    from sqlmodel import Session

    from core.settings import Settings


def reset_command(
    database: DatabaseOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also delete results of a real model and episodes from outside.")
    ] = False,
) -> None:
    """Delete everything the simulated demo made, so that it starts afresh.

    Refuses if a real model was called or episodes came from outside
    (unless --force), and always while a loop runs. There is no undo.

    For example:

    python -m core demo-reset --database sqlite:///try.db --yes
    """
    from core.cli.edge import opened, settings_for, translator

    settings = settings_for(database)
    t = translator()
    with opened(settings) as store:
        with store.read() as session:
            _refuse_if_precious(session, settings, force=force)
        if not yes:
            typer.confirm(t("Delete all rules, episodes, rounds and spend records in this database?"), abort=True)
        with store.write() as session:
            _refuse_if_precious(session, settings, force=force)  # the world may have moved while we asked
            deleted = _empty_all_tables(session)
    typer.echo(t("Deleted {rows} rows. The database is empty.", rows=t.number(deleted)))


def _refuse_if_precious(session: "Session", settings: "Settings", *, force: bool) -> None:
    from datetime import timedelta

    from sqlalchemy import func, select
    from sqlmodel import col

    from core.clock import utc_now
    from core.errors import UserError
    from core.tables import Episode, Lease, LedgerEntry

    alive_since = utc_now() - timedelta(seconds=settings.loop.lease_ttl_s)
    lease = session.execute(select(Lease).where(col(Lease.heartbeat_at) > alive_since)).scalars().first()
    if lease is not None:
        raise UserError("The loop is running ({owner}). Stop it first, then reset.", owner=lease.owner)
    real = session.execute(
        select(func.count()).select_from(LedgerEntry).where(col(LedgerEntry.simulated).is_(False))
    ).scalar_one()
    outside = session.execute(
        select(func.count()).select_from(Episode).where(col(Episode.arm) == "external")
    ).scalar_one()
    if (real or outside) and not force:
        raise UserError(
            "This is not only a demo: {calls} calls of a real model and {episodes} episodes from outside. "
            "Give --force to delete them too.",
            calls=real,
            episodes=outside,
        )


def _empty_all_tables(session: "Session") -> int:
    from sqlalchemy import CursorResult, delete
    from sqlmodel import SQLModel

    from core.tables.tallies import TALLIES

    counted = {tally.__tablename__ for tally in TALLIES}  # they empty themselves
    deleted = 0
    for table in reversed(SQLModel.metadata.sorted_tables):
        if table.name in counted:
            continue
        result = session.execute(delete(table))
        deleted += result.rowcount if isinstance(result, CursorResult) else 0
    return deleted
