"""Figures of one size in a process of its own, so that what one leaves in memory does not slow the next down."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")


def apart(work: Callable[[Given], Found], given: Given) -> Found:
    """Return ``work(given)``, done in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, given).result()
