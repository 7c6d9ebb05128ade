"""Work in the background, one piece after another: booting and halting must not hold up an API answer."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Task:
    """Runs `action` in a daemon thread after `previous` has ended. error: what it raised, once done."""

    def __init__(self, name: str, action: Callable[[], None], previous: Task | None = None) -> None:
        self.error: BaseException | None = None
        self._done = threading.Event()
        self._action = action
        self._previous = previous
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether the action has returned or raised."""
        return self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until done, at most that long; whether it is done."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        if self._previous is not None:
            self._previous._done.wait()
            self._previous = None
        try:
            self._action()
        except BaseException as error:  # noqa: BLE001 - a failed boot is a fact about the instance, not about us
            self.error = error
        finally:
            self._done.set()
