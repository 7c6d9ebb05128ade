"""The one error tree: every error a person can meet carries what, where, why, what next and an exit code.

DeployerError
├── UsageError (2)           wrong command line
├── SpecError (2)            the stack spec, one or more located diagnostics
├── RefusedError (3)         refused before anything billable was started
│   ├── CredentialsError (3)
│   └── QuotaError (3)       the account may not run that much
├── CapacityError (4)        AWS has no such instance to give now
├── BootstrapError (5)       the instance came up, its agent reported a typed failure
├── NotHealthyError (6)      the health ladder did not pass in time
├── TeardownIncomplete (7)   something of ours is still there
├── LockedError (8)          another operator holds the stack
├── AwsError (1)             an AWS answer no rule above covers
└── InterruptedByUser (130)  Ctrl-C
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "unexpected error (AWS answered something no rule covers, or a bug)",
    2: "usage or spec error",
    3: "refused before launch",
    4: "no capacity",
    5: "bootstrap failed on the instance",
    6: "not healthy in time",
    7: "teardown incomplete",
    8: "locked by another operator",
    130: "interrupted",
}


class DeployerError(Exception):
    """An error meant for a person.

    message: what happened and why, one or two sentences without a trailing newline.
    where: file:line:col, resource name or AWS call, when known.
    hint: what to do next, when known.
    """

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def as_dict(self) -> dict[str, object]:
        """The stable JSON form: {"error": {"code", "message", "where", "hint"}}."""
        return {"error": {"code": self.code, "message": self.message, "where": self.where, "hint": self.hint}}


def _with(body: dict[str, object], **more: object) -> dict[str, object]:
    """An error's common form with more keys."""
    inner = body["error"]
    assert isinstance(inner, dict)
    return {"error": {**inner, **more}}


class UsageError(DeployerError):
    """The command line makes no sense."""

    code = "usage"
    exit_code = 2


@dataclass(frozen=True)
class Diagnostic:
    """One mistake in a spec. line and column count from 1; path is the dotted key, e.g. `instance.type`."""

    file: str
    line: int
    column: int
    path: str
    message: str

    @property
    def where(self) -> str:
        """`file:line:column`; for a value that came from the command line just the option's name, e.g. `--set`."""
        return self.file if self.file.startswith("--") else f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        return f"{self.where}{' ' if self.file.startswith('--') else ': '}{path}{self.message}"


class SpecError(DeployerError):
    """One or more located mistakes in a stack spec."""

    code = "spec"
    exit_code = 2

    def __init__(self, diagnostics: list[Diagnostic], *, hint: str | None = None) -> None:
        first = diagnostics[0]
        super().__init__("\n".join(str(d) for d in diagnostics), where=first.where, hint=hint)
        self.diagnostics = tuple(diagnostics)

    def as_dict(self) -> dict[str, object]:
        """The common form plus `diagnostics`, one object for each mistake."""
        return _with(super().as_dict(), diagnostics=[vars(d) for d in self.diagnostics])


class RefusedError(DeployerError):
    """Refused before anything billable was started (does not fit, not offered, no permission, quota)."""

    code = "refused"
    exit_code = 3


class CredentialsError(RefusedError):
    """AWS credentials are missing, expired or of another partition."""

    code = "credentials"


class QuotaError(RefusedError):
    """A launch beyond a quota. quota: name, code and value, null where AWS does not tell. attempts: what was tried."""

    code = "quota"

    def __init__(
        self,
        message: str,
        *,
        quota: Mapping[str, object],
        attempts: Sequence[Mapping[str, object]] = (),
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.quota = dict(quota)
        self.attempts = tuple(attempts)

    def as_dict(self) -> dict[str, object]:
        """The common form plus `quota` and `attempts`."""
        return _with(super().as_dict(), quota=self.quota, attempts=[dict(one) for one in self.attempts])


class CapacityError(DeployerError):
    """AWS has no capacity for any allowed instance type, zone and market. attempts: what was tried, one by one."""

    code = "capacity"
    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        attempts: Sequence[Mapping[str, object]] = (),
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.attempts = tuple(attempts)

    def as_dict(self) -> dict[str, object]:
        """The common form plus `attempts`."""
        return _with(super().as_dict(), attempts=[dict(one) for one in self.attempts])


class BootstrapError(DeployerError):
    """The agent on the instance reported a typed failure.

    failure_code: a value of agent.protocol.FailureCode.  log: the last log lines from the instance.
    """

    code = "bootstrap"
    exit_code = 5

    def __init__(
        self,
        message: str,
        *,
        failure_code: str,
        log: tuple[str, ...] = (),
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.failure_code = failure_code
        self.log = log

    def as_dict(self) -> dict[str, object]:
        """The common form plus `failure_code` and `log`."""
        return _with(super().as_dict(), failure_code=self.failure_code, log=list(self.log))


class NotHealthyError(DeployerError):
    """A rung of the health ladder missed its deadline or aborted early."""

    code = "not_healthy"
    exit_code = 6


class TeardownIncomplete(DeployerError):
    """`down` ended while AWS still shows something of ours."""

    code = "teardown_incomplete"
    exit_code = 7


class LockedError(DeployerError):
    """Another operator holds the stack's lease."""

    code = "locked"
    exit_code = 8


class InterruptedByUser(DeployerError):
    """Ctrl-C; the message says what exists and how to go on or clean up."""

    code = "interrupted"
    exit_code = 130


class AwsError(DeployerError):
    """An AWS answer. aws_code is AWS's own error code, request_id AWS's id of the failed call."""

    code = "aws"

    def __init__(
        self,
        message: str,
        *,
        aws_code: str,
        operation: str,
        request_id: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=operation, hint=hint)
        self.aws_code = aws_code
        self.operation = operation
        self.request_id = request_id
