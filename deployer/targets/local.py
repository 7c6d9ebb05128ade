"""The local target: llama.cpp on this machine, run by the same agent as on an instance, in the background."""

from __future__ import annotations

import shutil
from dataclasses import replace

from deployer.clock import Clock
from deployer.decide.money import Spent, spent
from deployer.decide.types import Deployment
from deployer.errors import BootstrapError, DeployerError, NotHealthyError, RefusedError
from deployer.events import Emit, Event
from deployer.health.agent import AgentFacts
from deployer.health.client import EngineClient
from deployer.health.ladder import climb
from deployer.health.rungs import rungs_for
from deployer.settings import Settings
from deployer.targets.base import DownResult, Plan, Preflight, StackStatus, Step, UpResult
from deployer.targets.local_agent import answers, end_all, running, start
from deployer.targets.local_engine import find_llama_server
from deployer.targets.local_health import AgentAlive
from deployer.targets.local_lock import stack_lock
from deployer.targets.local_plan import LocalPlan, digest, plan_local, refuse_missing_weights
from deployer.targets.local_process import ProcessId
from deployer.targets.local_state import LocalRecord, StackFolder, box_paths, stack_folder, stack_folders
from deployer.targets.local_status import status_of
from deployer.targets.measured import in_effect

__all__ = ["LocalTarget", "box_paths"]


class LocalTarget:
    """Implements targets.base.Target. Stacks live below settings.home/stacks."""

    def __init__(self, settings: Settings, clock: Clock, emit: Emit) -> None:
        self._settings = settings
        self._clock = clock
        self._emit = emit

    def resolved(self, deployment: Deployment) -> Deployment:
        """As it is: everything about this machine was decided already."""
        return deployment

    def plan(self, deployment: Deployment) -> Plan:
        """What `up` would do. Raises RefusedError when it could not start."""
        return Plan((self._plan(deployment, self._folder(deployment.spec.name)).step,))

    def preflight(self, deployment: Deployment) -> Preflight:
        """What was measured: this machine costs nothing, and `plan` has looked at it already."""
        record = self._folder(deployment.spec.name).record()
        return Preflight(tuned=record.tuned if record else None)

    def up(self, deployment: Deployment) -> UpResult:
        """Start the stack unless it runs as it should, and climb the health ladder.

        Raises RefusedError (no program, no model file, port taken), LockedError, BootstrapError, NotHealthyError. What
        was started here and failed is ended; its logs stay until `down` or the next `up`.
        """
        began = self._clock.monotonic()
        folder = self._folder(deployment.spec.name)
        with stack_lock(folder.path):
            plan = self._plan(deployment, folder)
            url = f"http://{deployment.engine.host}:{deployment.engine.port}/v1"
            if plan.step.action != "keep":
                self._apply(deployment, folder, plan, url)
            try:
                facts = self._climb(deployment, folder, url)
            except (BootstrapError, NotHealthyError) as error:
                # What ran before this call may only be busy with somebody's request.
                if plan.step.action != "keep":
                    end_all(folder, self._clock, port=None)
                raise _with_log(error, folder) from error
            record = folder.record()
            if record is not None:
                tuned = in_effect(record.tuned, facts, self._emit)
                if tuned != record.tuned:
                    folder.write_record(replace(record, tuned=tuned))
        changes = Plan((plan.step,)).changes
        result = UpResult(folder.name, changes, url, None, round(self._clock.monotonic() - began, 3))
        self._announce(deployment, folder, result)
        return result

    def spent(self, stack: str) -> Spent | None:
        """Hours and generated tokens; this machine has no price."""
        folder = self._folder(stack)
        record = folder.record()
        if record is None or running(folder) is None:
            return None
        client = EngineClient(lambda: record.url, folder.ensure_api_key())
        tokens = client.generated_tokens()
        client.close()
        return spent((self._clock.now() - record.created_at) / 3600, None, tokens)

    def down(self, stack: str) -> DownResult:
        """End every process of the stack, see that its port is closed, remove its files. Nothing there is fine."""
        began = self._clock.monotonic()
        folder = self._folder(stack)
        deleted: tuple[str, ...] = ()
        remaining: tuple[str, ...] = ()
        if folder.path.exists():
            with stack_lock(folder.path):
                record = folder.record()
                step = Step("delete", "agent", stack, "down")
                self._start_step(step)
                ended = end_all(folder, self._clock, port=record.port if record else None)
                deleted, remaining = ended.deleted, ended.remaining
                if not remaining:
                    shutil.rmtree(folder.path)
                    deleted += (f"files {folder.path}",)
                self._end_step(step, None, began)
        seconds = round(self._clock.monotonic() - began, 3)
        self._emit(
            Event(
                "down.summary",
                {"stack": stack, "deleted": list(deleted), "remaining": list(remaining), "seconds": seconds},
            )
        )
        return DownResult(stack, deleted, remaining, seconds)

    def status(self, stack: str) -> StackStatus:
        """One stack as it is now. Raises RefusedError when there is none of that name."""
        folder = self._folder(stack)
        if not folder.path.exists():
            raise RefusedError(
                f"there is no stack {stack} on this machine", where=str(folder.path), hint="deployer ls shows what is"
            )
        return status_of(folder)

    def list_stacks(self) -> list[StackStatus]:
        """Every local stack, by name."""
        return [status_of(folder) for folder in stack_folders(self._settings)]

    def _folder(self, stack: str) -> StackFolder:
        return stack_folder(self._settings, stack)

    def _plan(self, deployment: Deployment, folder: StackFolder) -> LocalPlan:
        refuse_missing_weights(deployment)
        return plan_local(deployment, folder, find_llama_server(self._settings.environ))

    def _apply(self, deployment: Deployment, folder: StackFolder, plan: LocalPlan, url: str) -> None:
        began = self._clock.monotonic()
        self._start_step(plan.step)
        # A killed agent may have left its engine; it would hold the port.
        end_all(folder, self._clock, port=deployment.engine.port)
        self._refuse_taken_port(deployment.engine.port)
        folder.ensure_api_key()
        folder.write_config(plan.config)
        record = LocalRecord(
            stack=folder.name,
            spec_digest=deployment.spec_digest,
            config_digest=digest(plan.config),
            generation=plan.record.generation if plan.record else 1,
            created_at=plan.record.created_at if plan.record else self._clock.now(),
            port=deployment.engine.port,
            url=url,
            alias=deployment.engine.alias,
            tuned=plan.record.tuned if plan.record else None,
        )
        # Written before the start: a process that is not in it yet is found by its command line.
        folder.write_record(record)
        process = start(folder, self._settings.environ)
        folder.write_record(replace(record, pid=process.pid, start=process.start))
        self._end_step(plan.step, str(process.pid), began)

    def _refuse_taken_port(self, port: int) -> None:
        if answers(port):
            raise RefusedError(
                f"another program listens on port {port} of this machine",
                where=f"127.0.0.1:{port}",
                hint="end it, or choose another endpoint.port",
            )

    def _climb(self, deployment: Deployment, folder: StackFolder, url: str) -> AgentFacts:
        def agent() -> ProcessId | None:
            return running(folder)

        rungs = rungs_for(
            deployment,
            instance=AgentAlive(folder, agent),
            console=folder.console_text,
            open_endpoint=lambda _agent: url,
            api_key=folder.ensure_api_key(),
            emit=self._emit,
        )
        climb(rungs.probes, clock=self._clock, emit=self._emit)
        return rungs.agent.facts

    def _announce(self, deployment: Deployment, folder: StackFolder, result: UpResult) -> None:
        self._emit(
            Event(
                "endpoint",
                {
                    "url": result.url,
                    "alias": deployment.engine.alias,
                    "expose": "local",
                    "key_command": f"cat '{folder.api_key_file}'",
                },
            )
        )
        self._emit(Event("up.summary", {**vars(result)}))

    def _start_step(self, step: Step) -> None:
        self._emit(Event("step.start", {**vars(step)}))

    def _end_step(self, step: Step, identity: str | None, began: float) -> None:
        seconds = round(self._clock.monotonic() - began, 3)
        fields = {"action": step.action, "kind": step.kind, "name": step.name, "id": identity, "seconds": seconds}
        self._emit(Event("step.done", fields))


def _with_log(error: DeployerError, folder: StackFolder) -> DeployerError:
    """The same error, which also says where the logs are."""
    error.hint = "; ".join(filter(None, [error.hint, f"logs: {folder.engine_log}"]))
    return error
