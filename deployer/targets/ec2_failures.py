"""What an `up` that failed leaves behind, said in the error itself, with the way on and the way out."""

from __future__ import annotations

from contextlib import suppress

from deployer.aws import errors
from deployer.errors import AwsError, CapacityError, DeployerError, RefusedError
from deployer.reconcile import record as records
from deployer.reconcile.operation import Operation


def as_shown(error: DeployerError) -> DeployerError:
    """The error that fits the meaning of AWS's answer; the same one when it is none or no meaning fits."""
    return errors.for_person(error) if isinstance(error, AwsError) else error


def with_leftovers(error: DeployerError, op: Operation) -> DeployerError:
    """The same error for a person; its hint also says what exists, how to go on and how to remove it."""
    shown = as_shown(error)
    if isinstance(shown, AwsError | RefusedError) and not isinstance(shown, CapacityError):
        more = what_exists(op)
        if more is not None:
            stack = op.names.stack
            hinted(shown, f"{more}: `deployer up` again goes on, `deployer down {stack}` removes everything")
    return shown


def with_way_out(error: DeployerError, stack: str, instance_id: str, *, stays: bool) -> DeployerError:
    """The same error; its hint also says what became of the instance that is not healthy."""
    if stays:
        return hinted(
            error,
            f"{instance_id} is kept so that you can look: `deployer logs {stack}` shows what it said, "
            f"`deployer down {stack}` removes it",
        )
    return hinted(error, f"{instance_id} was removed and the instance that served before still does")


def hinted(error: DeployerError, more: str) -> DeployerError:
    """The same error with one more line of hint."""
    error.hint = f"{error.hint}\n{more}" if error.hint else more
    return error


def what_exists(op: Operation) -> str | None:
    """What AWS shows of the stack after a failure, None when nothing was made."""
    with suppress(DeployerError):
        record = records.read(op.aws, op.names)
        if record is None:
            return None
        if record.intent is not None:
            return f"a launch was begun (attempt {record.intent.attempt}), so an instance may be running and billed"
        if "instance" in record.ids:
            return f"its instance {record.ids['instance']} was launched and is billed (record: {record.phase})"
        return f"it has no instance, only what costs nothing (record: {record.phase})"
    return "AWS could not be asked what exists, so an instance may be running and billed"
