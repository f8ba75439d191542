"""Options that several commands share. Imports nothing heavy."""

from typing import Annotated

import typer

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Where the state lives: sqlite:///FILE or postgresql+psycopg://... Default: DATABASE_URL.",
    ),
]
