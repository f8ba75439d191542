"""Options that several commands share. Imports nothing heavy."""

from typing import Annotated

import typer

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Where the state lives, as sqlite:///FILE. Default: DATABASE_URL.",
    ),
]
