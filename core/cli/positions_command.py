"""``check-positions``: does it matter where in the prompt a rule stands?"""

from typing import Annotated

import typer

from core.cli.options import DatabaseOption


def positions_command(
    database: DatabaseOption = None,
    tasks: Annotated[int, typer.Option(min=10, help="Held-out tasks; each is run twice, which costs calls.")] = 60,
) -> None:
    """Run the same held-out tasks with the best rules at both ends of the prompt, and in its middle.

    A clear difference says that the model reads the middle less: keep fewer rules in
    a prompt (retrieval.top_k), or more of them doubled.

    For example:

    python -m core check-positions --tasks 100
    """
    from core.cli.edge import opened, settings_for, translator
    from core.clock import utc_now
    from core.learning.benching import BenchMaker
    from core.learning.position_check import check_standing_library

    settings, t = settings_for(database), translator()
    with opened(settings) as store:
        maker = BenchMaker(settings, store, utc_now, "position check")
        found = check_standing_library(maker.make(maker.own_domain()), tasks)
    for name, rate in ((t("At both ends"), found.ends), (t("In the middle"), found.middle)):
        typer.echo(
            t("{name}: success rate {rate}", name=name, rate=t.interval(rate.value, rate.low, rate.high, rate.n))
        )
    gap = found.difference
    typer.echo(t("Ends minus middle: {difference}", difference=t.interval(gap.value, gap.low, gap.high, gap.n)))
