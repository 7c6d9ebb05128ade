"""The agent's vocabulary: phases, failure codes, console lines, config. Shared with the client, standard library only.

One console line is `deployer-agent: ` followed by one JSON object; everything else on the console is not ours.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

CONSOLE_PREFIX = "deployer-agent: "
PROTOCOL_VERSION = 1

#: In order; `weights` runs at the same time as `driver`, `runtime` and `image`. `tuning` only where it is asked for,
#: also after `ready`: its `done` or `skipped` line carries the report (see tuning.as_json) as detail.
PHASES = ("boot", "driver", "runtime", "image", "weights", "tuning", "engine", "ready")

#: Told at any time after ready. idle: `progress` when nobody has asked anything for a while, `detail.ends_at` says
#: when the instance ends itself unless somebody does; `done` when somebody did.
#: interruption: `start` when AWS takes the spot instance back at `detail.ends_at`, `done` when nobody is served
#: any more.
NOTICES = ("idle", "interruption")

#: start, progress, done, skipped, failed. `restarting` is said of the engine after it was ready once.
STATES = ("start", "progress", "done", "skipped", "failed", "restarting")

#: failure code -> the hint a person reads first.
FAILURE_HINTS: Dict[str, str] = {
    "agent_program": "the instance cannot read the agent's program from SSM: check the role's policy and the way to "
    "the SSM endpoint (a NAT gateway or a VPC endpoint); `deployer up` stores it anew when it is gone",
    "driver_missing": "the AMI has no working GPU driver: choose an AMI with the NVIDIA driver (instance.ami)",
    "image_pull": "the engine image could not be pulled: check engine.image and that the instance reaches its registry",
    "runtime_missing": "the engine's runtime (docker or the llama-server program) is not on the instance: choose an "
    "AMI that has it (instance.ami) or another engine.runtime",
    "weights_download": "no source served the weights: check model.source, the mirror and the instance's way out",
    "weights_checksum": "the file is not the one that was pinned: fix model.sha256 or model.revision",
    "disk_full": "the volume is too small for the weights: raise instance.root_volume.size_gib",
    "key_rejected": "the instance may not read its API key: check the role's policy and the key parameter",
    "bad_flag": "this llama.cpp refuses one of our flags: see the log line and engine.extra_args",
    "illegal_instruction": "the build needs a CPU feature this instance lacks: choose another engine.build",
    "out_of_memory": "lower engine.context or engine.parallel, choose a smaller quantisation or a larger instance",
    "mtp_missing_in_gguf": "the GGUF has no MTP head: use the MTP repository's file or set engine.mtp: off",
    "port_taken": "another program listens on the port: choose another endpoint.port",
    "engine_exit": "llama-server ended; its last log lines say why: check the model's file and engine.extra_args",
    "not_ready": "the engine runs but did not load or answer in time: choose a smaller model, a faster volume "
    "(instance.root_volume.throughput_mibs) or a larger instance (instance.type)",
    "agent_error": "the agent itself failed; its message says what it met: `deployer down`, then `deployer up`, makes "
    "a new instance",
}


class AgentFailure(Exception):
    """A typed failure of one phase. code: a key of FAILURE_HINTS. log: the last lines of the log that explains it."""

    def __init__(self, phase: str, code: str, message: str, log: Optional[List[str]] = None) -> None:
        super().__init__(message)
        self.phase = phase
        self.code = code
        self.message = message
        self.log = log or []


def encode_line(phase: str, state: str, ts: float, **fields: Any) -> str:
    """One console line (without newline). ts: seconds since the epoch. None values are left out.

    Fields in use: percent (0-100), bytes, total_bytes, seconds, code, message, hint, log (list of str),
    host_keys (list of `type base64` public keys, on `boot`), certificate (PEM, on `runtime`, with TLS), pid, detail.
    """
    body: Dict[str, Any] = {"v": PROTOCOL_VERSION, "ts": round(ts, 3), "phase": phase, "state": state}
    body.update({k: v for k, v in fields.items() if v is not None})
    return CONSOLE_PREFIX + json.dumps(body, separators=(",", ":"), ensure_ascii=True)


def decode_line(line: str) -> Optional[Dict[str, Any]]:
    """The JSON object of one console line, or None when the line is not the agent's or is cut short."""
    at = line.find(CONSOLE_PREFIX)
    if at < 0:
        return None
    try:
        body = json.loads(line[at + len(CONSOLE_PREFIX) :])
    except ValueError:
        return None
    if not isinstance(body, dict) or body.get("phase") not in PHASES + NOTICES or body.get("state") not in STATES:
        return None
    return body
