"""Independent work at the same time, with a Ctrl-C that lets calls in flight finish."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class _Task(threading.Thread):
    """One function in a daemon thread: a second Ctrl-C must be able to end the process."""

    def __init__(self, name: str, act: Callable[[], object]) -> None:
        super().__init__(name=name, daemon=True)
        self._act = act
        self.result: object = None
        self.error: BaseException | None = None
        # Thread.join counts a thread as ended when Ctrl-C interrupts the join (Python before 3.13); an event does not.
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            self.result = self._act()
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            self.error = error
        finally:
            self.ended.set()


def gather(tasks: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """Run every task in a thread of its own and return their results by name.

    All of them end before this returns; then the first error in the order of tasks is raised. The first Ctrl-C waits
    for the calls in flight, so that what they made is known and recorded; a second one does not.
    """
    running = [_Task(name, act) for name, act in tasks.items()]
    for task in running:
        task.start()
    interrupted = False
    for task in running:
        try:
            task.ended.wait()
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            task.ended.wait()
    for task in running:
        if task.error is not None:
            raise task.error
    if interrupted:
        raise KeyboardInterrupt
    return {task.name: task.result for task in running}  # type: ignore[misc]  # each result is its own task's T


def shielded(act: Callable[[], T]) -> T:
    """Run one function so that a first Ctrl-C takes effect only after it ended."""
    return gather({"call": act})["call"]


def in_turn(*acts: Callable[[], object]) -> Callable[[], None]:
    """One task that runs several, one after the other."""
    chain: Sequence[Callable[[], object]] = acts

    def run() -> None:
        for act in chain:
            act()

    return run
