"""How long the model took to decide, read from the ledger (design section 9: latency is a signal of the outcome)."""

from collections import defaultdict
from collections.abc import Sequence

from sqlmodel import Session, col, select

from core.tables import Episode, LedgerEntry


def latencies(session: Session, episodes: Sequence[Episode]) -> dict[str, list[float]]:
    """Return the milliseconds that each request for an action took, by episode, in order.

    All attempts of a request count, the waiting between them does not. An episode whose calls did not go through the
    ledger, such as an imported one, has none.
    """
    rounds = {episode.round_number for episode in episodes if episode.round_number is not None}
    rows = session.exec(
        select(LedgerEntry.episode_id, LedgerEntry.request_id, LedgerEntry.latency_ms)
        # The round is indexed, the episode is not.
        .where(col(LedgerEntry.round_number).in_(rounds), LedgerEntry.purpose == "act")
        .where(col(LedgerEntry.episode_id).in_([episode.id for episode in episodes]))
        .order_by(col(LedgerEntry.id))
    ).all()
    spent: dict[str, dict[str, float]] = defaultdict(dict)
    for episode_id, request, milliseconds in rows:
        requests = spent[str(episode_id)]
        requests[request] = requests.get(request, 0.0) + milliseconds
    return {episode_id: list(requests.values()) for episode_id, requests in spent.items()}
