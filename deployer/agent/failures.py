"""Why an engine ended: its exit code and its last log lines as one failure code.

The lines are llama.cpp b11549's own, measured: an unknown flag, a file without MTP head and a taken port all exit 1.
"""

from __future__ import annotations

import re

from .protocol import AgentFailure
from .text import clean

ILLEGAL_INSTRUCTION, ABORTED, KILLED = 132, 134, 137

# In order: a later, more general line must not hide an earlier, more exact one.
_LINES = (
    (
        "mtp_missing_in_gguf",
        r"context type MTP requested but|doesn't contain MTP layers|failed to create MTP context|"
        r"MTP block missing|nextn\.",
    ),
    (
        "bad_flag",
        r"invalid argument|the argument has been removed|unknown (argument|option|speculative type|value)|"
        r"unsupported cache type|expected value for argument|error while (handling|parsing)|"
        r"invalid (device|value)|quantized V cache requires",
    ),
    ("port_taken", r"address already in use|couldn't bind|could not bind|failed to bind"),
    (
        "driver_missing",
        r"no CUDA-capable device|CUDA driver version is insufficient|forward compatibility was attempted|"
        r"nvidia-container-cli|could not select device driver|device kernel image is invalid",
    ),
    (
        "out_of_memory",
        r"bad_alloc|out of memory|failed to allocate|unable to allocate|cannot allocate memory|cudaMalloc failed|"
        # ggml without memory for its own bookkeeping.
        r"insufficient memory|mem_buffer != NULL",
    ),
    ("illegal_instruction", r"illegal instruction"),
    ("image_pull", r"manifest unknown|pull access denied"),
)


def explain(code: int, log: list[str], mtp: bool) -> AgentFailure:
    """The typed failure of the engine phase. code: as a shell sees it. mtp: was MTP asked for?"""
    ended = "the engine ended with exit code %d" % code
    if code == ILLEGAL_INSTRUCTION:
        return AgentFailure("engine", "illegal_instruction", ended + " (illegal instruction)", log)
    for name, pattern in _LINES:
        # From the end: an old warning weighs less than the last word.
        for line in reversed(log):
            if re.search(pattern, line, re.IGNORECASE):
                return AgentFailure("engine", name, "%s: %s" % (ended, clean(line)), log)
    if code == KILLED:
        return AgentFailure("engine", "out_of_memory", ended + " (killed, as the kernel does when memory is full)", log)
    if code == ABORTED and mtp and not any("GGML_ASSERT" in line for line in log):
        return AgentFailure("engine", "mtp_missing_in_gguf", ended + " (aborted while MTP is on)", log)
    last = ": " + clean(log[-1]) if log else " and wrote nothing"
    return AgentFailure("engine", "engine_exit", ended + last, log)
