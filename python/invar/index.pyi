# SPDX-License-Identifier: Apache-2.0
# Made by `python3 -m invar._stub index`; do not edit.
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from . import Adapter

@dataclass(frozen=True)
class Reindexed:
    index: Any
    rows: int
    exchanged: bool
    name: str = ...
    recall: dict[str, float] = ...
def in_front(
    index: Any,
    E: Adapter | str | PathLike[str],
) -> Any: ...
def reindex(
    index: Any,
    E: Adapter | str | PathLike[str],
    *,
    table: str | None = None,
    column: str | None = None,
    key: str = 'id',
    metric: str | None = None,
    queries: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    k: int = 10,
    tolerance: float = 0.005,
    exchange: bool = True,
    batch: int | None = None,
    checkpoint_seconds: float = 60.0,
    progress: bool | Callable[[str, int, int], Any] | None = None,
) -> Reindexed: ...
def restore(
    index: Any,
    *,
    table: str | None = None,
    column: str | None = None,
    key: str = 'id',
) -> None: ...
