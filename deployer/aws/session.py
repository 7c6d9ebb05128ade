"""The one way into AWS: `Aws.call`. boto3 is loaded when somebody connects, never before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

import deployer
from deployer.aws import errors
from deployer.aws.retrying import with_retries
from deployer.catalog import partition as partitions
from deployer.catalog.types import Partition
from deployer.clock import Clock, SystemClock
from deployer.errors import AwsError, CredentialsError, RefusedError, UsageError
from deployer.events import Emit, ignore
from deployer.settings import Settings

Service = Literal["ec2", "ssm", "iam", "sts", "ecr", "pricing", "service-quotas"]

CONNECT_TIMEOUT_SECONDS = 5
READ_TIMEOUT_SECONDS = 20


class Aws:
    """One region of one account. call may be used from many threads at once.

    account: the account id. caller: the ARN of who we are. clock, emit: pauses between tries, and who is told of them.
    """

    def __init__(
        self,
        region: str,
        partition: Partition,
        make_client: Callable[[Service, str], Any],
        clock: Clock | None = None,
        emit: Emit = ignore,
    ) -> None:
        self.region = region
        self.partition = partition
        self.account = ""
        self.caller = ""
        self._make_client = make_client
        self._clock = clock or SystemClock()
        self._emit = emit
        self._clients: dict[Service, Any] = {}
        self._lock = threading.Lock()

    def client(self, service: Service) -> Any:
        """The boto3 client, made once. A boto3 Session is not safe for making clients from two threads."""
        with self._lock:
            if service not in self._clients:
                elsewhere = {"iam": self.partition.iam_region, "pricing": self.partition.pricing_region}
                region = elsewhere.get(service) or self.region
                self._clients[service] = self._make_client(service, region)
            return self._clients[service]

    def call(self, service: Service, operation: str, **parameters: Any) -> dict[str, Any]:
        """One AWS call, by the names AWS's own documentation and IAM actions use (`ec2`, `RunInstances`).

        Sent again, with pauses, when AWS asks to slow down, is out of order or does not answer (aws.retrying).
        Raises AwsError with AWS's code, or CredentialsError when no usable credentials are there.
        """
        return with_retries(lambda: self._send(service, operation, parameters), clock=self._clock, emit=self._emit)

    def _send(self, service: Service, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        from botocore import xform_name
        from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

        name = f"{service}:{operation}"
        try:
            method = getattr(self.client(service), xform_name(operation))
            answer: dict[str, Any] = method(**parameters)
        except ClientError as error:
            raise _from_answer(error, name) from None
        except (HTTPClientError, ConnectionError) as error:
            # Sent, but no answer (or not sent at all): the outcome is unknown, intents and tokens settle it later.
            raise AwsError(
                f"{name}: no answer from AWS: {error}",
                aws_code="NoAnswer",
                operation=name,
                hint=errors.hint("NoAnswer"),
            ) from None
        except BotoCoreError as error:
            raise _from_botocore(error, name) from None
        return answer

    def call_unless(
        self, expected: errors.Meaning, service: Service, operation: str, **parameters: Any
    ) -> dict[str, Any] | None:
        """`call`, or None when AWS answers with a code of the expected meaning (`not_found`, `exists`)."""
        try:
            return self.call(service, operation, **parameters)
        except AwsError as error:
            if errors.meaning(error.aws_code) == expected:
                return None
            raise

    def pages(self, service: Service, operation: str, items: str, **parameters: Any) -> Iterator[Any]:
        """Every item of a paged answer. items: the key of the list in each page."""
        token: str | None = None
        while True:
            more = {"NextToken": token} if token else {}
            page = self.call(service, operation, **parameters, **more)
            yield from page.get(items, ())
            token = page.get("NextToken")
            if not token:
                return


def connect(region: str, settings: Settings, *, clock: Clock | None = None, emit: Emit = ignore) -> Aws:
    """Check who we are and that the credentials belong to the region's partition.

    Raises CredentialsError (missing, refused or foreign credentials), RefusedError (no such region) and UsageError (an
    endpoint that is no URL).
    """
    partition = partitions.for_region(region)
    if partition is None:
        raise RefusedError(f"{region!r} is not a region of any partition we know", hint="cn-northwest-1 or cn-north-1")
    aws = Aws(region, partition, _client_maker(settings), clock, emit)
    with ThreadPoolExecutor(max_workers=1) as pool:
        aws.client("sts")
        identity: Future[dict[str, Any]] = pool.submit(aws.call, "sts", "GetCallerIdentity")
        others: tuple[Service, ...] = ("ssm", "ec2", "iam")
        for service in others:
            aws.client(service)  # loads service models while the answer is on its way
        try:
            answer = identity.result()
        except AwsError as error:
            raise _identity_error(error, partition) from None
    aws.account, aws.caller = str(answer["Account"]), str(answer["Arn"])
    theirs = aws.caller.split(":")[1]
    if theirs != partition.name:
        raise CredentialsError(
            f"these credentials belong to partition {theirs}, but {region} is in {partition.name}",
            where="sts:GetCallerIdentity",
            hint=errors.REHEARSE_HINT,
        )
    return aws


def _client_maker(settings: Settings) -> Callable[[Service, str], Any]:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    try:
        session = boto3.Session(profile_name=settings.profile)
    except BotoCoreError as error:
        raise CredentialsError(str(error), where="AWS profile", hint=errors.REHEARSE_HINT) from None
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},  # aws.retrying repeats, on our clock
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        max_pool_connections=16,
        user_agent_extra=f"deployer/{deployer.__version__}",
    )

    def make(service: Service, region: str) -> Any:
        try:
            # types-boto3 knows only the services whose stubs are installed.
            name: Any = service
            return session.client(name, region_name=region, config=config)
        except ValueError as error:
            # botocore's only ValueError here: an endpoint that is no URL.
            raise UsageError(
                str(error), where=f"endpoint of {service}", hint="set AWS_ENDPOINT_URL to http://HOST:PORT, or unset it"
            ) from None
        except BotoCoreError as error:
            raise _from_botocore(error, f"client of {service}") from None

    return make


def _identity_error(error: AwsError, partition: Partition) -> Exception:
    if errors.meaning(error.aws_code) not in ("credentials", "permission"):
        return errors.for_person(error)
    return CredentialsError(
        f"AWS does not accept these credentials in partition {partition.name}: {error.message}; "
        "keys of another partition never work here",
        where=error.operation,
        hint=errors.REHEARSE_HINT,
    )


def _from_answer(error: Any, name: str) -> AwsError:
    body = error.response.get("Error", {})
    code = str(body.get("Code", "Unknown"))
    return AwsError(
        f"{name}: {code}: {body.get('Message', '')}",
        aws_code=code,
        operation=name,
        request_id=error.response.get("ResponseMetadata", {}).get("RequestId"),
        hint=errors.hint(code),
    )


def _from_botocore(error: Exception, name: str) -> AwsError | CredentialsError:
    kind = type(error).__name__
    if kind == "NoCredentialsError":
        return CredentialsError("no AWS credentials were found", where=name, hint=errors.REHEARSE_HINT)
    if any(word in kind for word in ("Credential", "Token", "SSO", "Profile")):
        return CredentialsError(f"the AWS credentials cannot be used: {error}", where=name, hint=errors.REHEARSE_HINT)
    code = "InvalidParameterValue" if kind in ("ParamValidationError", "NoRegionError") else kind
    return AwsError(f"{name}: {error}", aws_code=code, operation=name, hint=errors.hint(code))
