"""Parts from a source into an open upload: many at once, hashed in order, no more in memory than there are workers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from deployer.clock import Clock
from deployer.models.digest import Digest
from deployer.models.meter import Meter
from deployer.models.parts import Job, StoredPart
from deployer.models.source import Source, SourceChanged, Stopped, read_exactly


class PutPart(Protocol):
    """Sends one part (its number, its bytes, its sha256 in hex)."""

    def __call__(self, number: int, data: bytearray, sha256: str) -> StoredPart: ...


@dataclass(frozen=True)
class Ends:
    """source: read from. put: where parts go. note: told each hashed part's digest, in order, before it is sent."""

    source: Source
    put: PutPart
    note: Callable[[str], None]


class Transfer:
    """One run over the jobs. digest: of the whole file, continued with every part that is not in it yet."""

    def __init__(self, ends: Ends, jobs: Sequence[Job], digest: Digest, meter: Meter, clock: Clock) -> None:
        self._ends = ends
        self._jobs = jobs
        self._digest = digest
        self._meter = meter
        self._clock = clock
        self._stop = threading.Event()
        self._turn = threading.Condition()
        self._next = next((job.part.number for job in jobs if job.hash), 0)
        self.sent_bytes = 0

    def run(self, workers: int) -> list[StoredPart]:
        """What S3 now holds for each job. The first failure, or Ctrl-C, ends the others after their current part."""
        pool = ThreadPoolExecutor(workers, thread_name_prefix="push")
        try:
            futures = [pool.submit(self._guarded, job) for job in self._jobs]
            failure: BaseException | None = None
            stored = []
            for future in futures:
                try:
                    stored.append(future.result())
                except Stopped:
                    continue
                except Exception as error:  # noqa: BLE001 — raised below, when no worker runs any more
                    failure = failure or error
            if failure is not None:
                raise failure
            return stored
        finally:
            self._halt()
            pool.shutdown(wait=True, cancel_futures=True)

    def _guarded(self, job: Job) -> StoredPart:
        try:
            return self._move(job)
        except BaseException:
            self._halt()
            raise

    def _move(self, job: Job) -> StoredPart:
        part = job.part
        data = read_exactly(
            self._ends.source, part.start, part.length, self._clock, on_bytes=self._meter.add, stopped=self._stop.is_set
        )
        sha256 = hashlib.sha256(data).hexdigest()
        if job.known not in (None, sha256):
            raise SourceChanged(f"{self._ends.source.shown} gave other bytes for part {part.number} than before")
        if job.hash:
            with self._in_turn(part.number):
                self._digest.update(data)
                if job.known is None:
                    self._ends.note(sha256)
        if job.stored is not None and job.stored.sha256 == sha256:
            return job.stored
        stored = self._ends.put(part.number, data, sha256)
        with self._turn:
            self.sent_bytes += part.length
        return stored

    @contextmanager
    def _in_turn(self, number: int) -> Iterator[None]:
        """Wait until every part before this one is hashed. Workers take parts in order, so the first always moves."""
        with self._turn:
            self._turn.wait_for(lambda: self._next == number or self._stop.is_set())
            if self._stop.is_set():
                raise Stopped
            yield
            self._next = number + 1
            self._turn.notify_all()

    def _halt(self) -> None:
        self._stop.set()
        with self._turn:
            self._turn.notify_all()
