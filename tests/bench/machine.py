"""What a benchmark's figures were measured on."""

import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np


def machine() -> str:
    """Name processor, cores, Python, and the time of a 10,000 x 384 product as a yardstick."""
    vectors = np.random.default_rng(1).standard_normal((10_000, 384)).astype(np.float32)
    product = measured(lambda: vectors @ vectors[0], times=50)
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; 10,000 x 384 product {product}"


def measured(work: Callable[[], object], *, times: int, before: Callable[[], object] = lambda: None) -> str:
    """Run some work, each time after ``before``, and say how long the work alone took.

    Median and 95th percentile by the clock; and the median of the processor's time, which other programs on the
    same machine do not change.
    """
    work()
    durations, busy = [], []
    for _ in range(times):
        before()
        start, worked = perf_counter(), process_time()
        work()
        durations.append(1000 * (perf_counter() - start))
        busy.append(1000 * (process_time() - worked))
    by_clock = f"median {median(durations):.2f} ms, p95 {np.quantile(durations, 0.95):.2f} ms"
    return f"{by_clock}, processor {median(busy):.2f} ms (n = {times})"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()
