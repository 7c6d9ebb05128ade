"""How llama.cpp reads numbers, and which of the flags that have no effect here take one.

Source: the handlers of llama.cpp b11549's common/arg.cpp, which read with C++'s stoi and stof: leading digits count,
what follows them is ignored (`16k` is 16), and a text without any is refused with the name of the function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from deployer.engine.dialect import Flag

_WHOLE = re.compile(r"\s*([+-]?\d+)", re.ASCII)
_REAL = re.compile(r"\s*([+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan))", re.ASCII | re.IGNORECASE)
#: Largest int and largest float of C++.
_INT_LIMIT = 2**31
_FLOAT_LIMIT = 3.4028235e38


def integer(text: str) -> int:
    """A whole number, as stoi reads it. Raises ValueError with llama.cpp's word for it."""
    match = _WHOLE.match(text)
    if match is None or not -_INT_LIMIT <= int(match[1]) < _INT_LIMIT:
        raise ValueError("stoi")
    return int(match[1])


def real(text: str) -> float:
    """A decimal number, as stof reads it. Raises ValueError with llama.cpp's word for it."""
    match = _REAL.match(text)
    number = float(match[1]) if match else 0.0
    if match is None or (abs(number) > _FLOAT_LIMIT and "inf" not in match[1].lower()):
        raise ValueError("stof")
    return number


def _list_of(one: Callable[[str], object], separators: str) -> Callable[[str], object]:
    return lambda text: [one(part) for part in re.split(f"[{separators}]", text)]


_INTEGERS = (
    "--prio", "--prio-batch", "--poll", "--keep", "--yarn-orig-ctx", "--n-cpu-moe", "--n-cpu-ffn", "--moe-cache-mib",
    "--repeat-last-n", "--dry-allowed-length", "--dry-penalty-last-n", "--mirostat", "--checkpoint-min-step",
    "--image-min-tokens", "--image-max-tokens", "--mtmd-batch-max-tokens", "--embd-normalize", "--models-max",
    "--reasoning-budget", "--sleep-idle-seconds", "--control-vector-layer-range", "--spec-draft-threads",
    "--spec-draft-threads-batch", "--spec-draft-prio", "--spec-draft-prio-batch", "--spec-draft-n-cpu-moe",
    "--spec-ngram-mod-n-min", "--spec-ngram-mod-n-max", "--spec-ngram-mod-n-match", "--spec-ngram-simple-size-n",
    "--spec-ngram-simple-size-m", "--spec-ngram-simple-min-hits", "--spec-ngram-map-k-size-n",
    "--spec-ngram-map-k-size-m", "--spec-ngram-map-k-min-hits", "--spec-ngram-map-k4v-size-n",
    "--spec-ngram-map-k4v-size-m", "--spec-ngram-map-k4v-min-hits",
)  # fmt: skip
_REALS = (
    "--rope-scale", "--rope-freq-base", "--rope-freq-scale", "--yarn-ext-factor", "--yarn-attn-factor",
    "--yarn-beta-slow", "--yarn-beta-fast", "--top-nsigma", "--xtc-probability", "--xtc-threshold", "--typical",
    "--repeat-penalty", "--frequency-penalty", "--dry-multiplier", "--dry-base", "--adaptive-target",
    "--adaptive-decay", "--dynatemp-range", "--dynatemp-exp", "--mirostat-lr", "--mirostat-ent",
    "--slot-prompt-similarity", "--video-fps",
)  # fmt: skip
#: One name of a flag that only takes numbers -> its reader.
NUMERIC: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(_INTEGERS, integer),
    **dict.fromkeys(_REALS, real),
    "--tensor-split": _list_of(real, ",/"),
    "--fit-target": _list_of(integer, ","),
}


def check(flag: Flag, text: str) -> None:
    """Refuse a value of a flag of the dialect by its closed set or its kind of number. Raises ValueError."""
    if flag.values and not set(text.split(",") if flag.as_list else [text]) <= set(flag.values):
        raise ValueError("invalid value")
    for name in flag.names:
        if name in NUMERIC:
            NUMERIC[name](text)
