"""What a plain YAML 1.2 scalar means, and where YAML 1.1 readers (PyYAML, Go, Ruby) would read it differently.

Sources: YAML 1.2.2 core schema (section 10.3.2); YAML 1.1 type repository (bool, int, float, timestamp).
"""

from __future__ import annotations

import re

from deployer.spec.positions import Value

# Longer digit strings are no number anyone means, and Python refuses to convert the very long ones.
_MAX_DIGITS = 40

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?\.(inf|Inf|INF))|\.(nan|NaN|NAN)")

_WORDS_1_1 = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_PREFIXED = re.compile(r"[-+]?0[bo][0-9a-fA-F_]+")
_UNDERSCORED_NUMBER = re.compile(r"[-+]?(0x[0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?)")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")


def is_bool_word(text: str) -> bool:
    """`yes`, `no`, `on`, `off`, `y`, `n` in any of YAML 1.1's spellings."""
    return text.lower() in _WORDS_1_1 and text in {text.lower(), text.upper(), text.capitalize()}


def resolve(text: str) -> tuple[Value, str | None]:
    """The value of a plain scalar, and why it is a surprise (None: every YAML reader agrees)."""
    surprise = _surprise(text)
    if surprise is not None:
        return text, surprise
    if text in _NULL:
        return None, None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE, None
    if len(text) <= _MAX_DIGITS:
        if _INT.fullmatch(text):
            return int(text), None
        if _HEX.fullmatch(text):
            return int(text, 16), None
        if _FLOAT.fullmatch(text) or _INFINITE.fullmatch(text):
            return _float(text), None
    return text, None


def _float(text: str) -> float:
    return float(
        text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf").lower().replace(".nan", "nan")
    )


def _surprise(text: str) -> str | None:
    shown = text if len(text) <= _MAX_DIGITS else text[:_MAX_DIGITS] + "…"
    if is_bool_word(text):
        return f'other YAML tools read `{shown}` as {_WORDS_1_1[text.lower()]}; quote it: "{shown}"'
    if _LEADING_ZERO.fullmatch(text):
        return f'a number with a leading zero is octal to some YAML tools; write it without, or quote it: "{shown}"'
    if _PREFIXED.fullmatch(text):
        return f'YAML tools disagree on `{shown}`; write the number in decimal, or quote it: "{shown}"'
    if "_" in text and _UNDERSCORED_NUMBER.fullmatch(text):
        return f'other YAML tools read `{shown}` as a number; write it without `_`, or quote it: "{shown}"'
    if _SEXAGESIMAL.fullmatch(text):
        return f'other YAML tools read `{shown}` as a base-60 number; quote it: "{shown}"'
    if _DATE.fullmatch(text):
        return f'other YAML tools read `{shown}` as a date; quote it: "{shown}"'
    return None
