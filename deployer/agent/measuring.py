"""One candidate of a tuning, measured: the engine started with it, the same few questions asked several times."""

from __future__ import annotations

import json
import time

from .config import Config
from .console import Phase
from .engine import EngineProcess, need_port
from .protocol import AgentFailure
from .readiness import Engine
from .stop import Stop
from .text import clean
from .tuning import Candidate, Row, median, name_of, with_choice

#: Rounds over all questions; the median of their speeds counts.
ROUNDS = 3
#: Tokens for each answer: some twenty steps with drafts, and ten seconds on a CPU that gives five a second.
TOKENS = 48
_WARM_UP_TOKENS = 8
#: English, Chinese and code: the acceptance of drafts differs between them.
QUESTIONS = (
    "Explain in one paragraph why the sky is blue.",
    # Escaped twice: what is sent is plain ASCII.
    json.loads(
        '"\\u7528\\u4e00\\u6bb5\\u8bdd\\u8bf4\\u660e\\u4e3a\\u4ec0\\u4e48\\u5929\\u7a7a\\u662f\\u84dd\\u8272\\u7684\\u3002"'
    ),
    "Write a Python function that returns the n-th Fibonacci number.",
)


class Bench:
    """Measures candidates one after the other. p_min: least probability of a draft, as passed to the engine."""

    def __init__(self, config: Config, engine: Engine, process: EngineProcess, stop: Stop, p_min: str) -> None:
        self._config = config
        self._engine = engine
        self._process = process
        self._stop = stop
        self._p_min = p_min
        #: Answers of the plain engine, that drafts must not change.
        self._plain: list[str] | None = None
        self.requests = 0

    def measure(self, candidate: Candidate, phase: Phase) -> Row:
        """Raises Stopped and what ends the whole tuning; an engine that does not run is a row that says so."""
        try:
            return self._measure(candidate, phase)
        except AgentFailure as failure:
            return Row(*candidate, why="%s: %s" % (failure.code, clean(failure.message)))
        finally:
            self._process.stop()

    def _measure(self, candidate: Candidate, phase: Phase) -> Row:
        # A port of its own: whoever uses the endpoint would be measured too.
        port = need_port(self._config.host, 0)
        argv = with_choice(self._config.argv, candidate, self._p_min)
        if "--port" in argv:
            argv[argv.index("--port") + 1] = str(port)
        self._process.choose(argv, port)
        self._process.start()
        self._engine.wait_loaded(phase)
        self._ask(QUESTIONS[0], _WARM_UP_TOKENS, phase)
        speeds: list[float] = []
        texts: list[str] = []
        drafted = accepted = 0
        for number in range(ROUNDS):
            tokens = seconds = 0.0
            for question in QUESTIONS:
                phase.progress("%s, round %d of %d" % (name_of(candidate), number + 1, ROUNDS))
                text, timings = self._ask(question, TOKENS, phase)
                texts.append(text)
                tokens += timings["predicted_n"]
                seconds += timings["predicted_n"] / timings["predicted_per_second"]
                drafted += int(timings.get("draft_n") or 0)
                accepted += int(timings.get("draft_n_accepted") or 0)
            speeds.append(tokens / seconds)
        return Row(
            *candidate,
            median=round(median(speeds), 2),
            low=round(min(speeds), 2),
            high=round(max(speeds), 2),
            acceptance=round(accepted / drafted, 3) if drafted else (0.0 if candidate[0] else None),
            same=self._compare(texts, phase),
        )

    def _compare(self, texts: list[str], phase: Phase) -> bool | None:
        """Are the answers the first engine's? None for the first one itself, and when it contradicts itself."""
        if self._plain is None:
            self._plain = texts[: len(QUESTIONS)]
            if texts != self._plain * ROUNDS:
                self._plain = []
                phase.note("the plain engine's answers differ from round to round: they are not compared")
            return None
        return texts == self._plain * ROUNDS if self._plain else None

    def _ask(self, question: str, tokens: int, phase: Phase) -> tuple[str, dict[str, float]]:
        """Raises AgentFailure not_ready or what ended the engine, and what ends the whole tuning."""
        self._stop.pause(0)
        self.requests += 1
        began = time.monotonic()
        # Greedy, and nothing remembered of an earlier round: every answer is worked out anew.
        how = {"max_tokens": tokens, "temperature": 0, "cache_prompt": False}
        seen, text, timings = self._engine.complete(question, how, self._config.ready_s)
        self._process.need_alive()
        if not timings.get("predicted_per_second") or not timings.get("predicted_n"):
            raise phase.failure("not_ready", "no answer within %.0f s: %s" % (time.monotonic() - began, seen))
        return text, timings
