"""One page of a longer list; limit and offset are applied by the database."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

PAGE_SIZE = 20
"""Rows a list shows at a time unless told otherwise."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some rows of a list.

    Attributes:
        items: the rows of this page, in the list's order.
        total: rows of the whole list, at least 0.
    """

    items: tuple[T, ...]
    total: int
