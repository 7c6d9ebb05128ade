"""Objects and multipart uploads in S3, by the calls of `Aws.call`, with S3's own error codes as sentences."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import deployer
from deployer.aws import errors
from deployer.aws.session import Aws, Service
from deployer.catalog import partition as partitions
from deployer.errors import AwsError, CredentialsError, DeployerError, RefusedError
from deployer.models.parts import StoredPart
from deployer.settings import Settings

#: A part of some MiB may be sent again: nothing is lost by more tries, and a lost part would end a long push.
RETRIES = 5
CONNECT_TIMEOUT_SECONDS = 10
#: Completing an upload of thousands of parts takes S3 up to minutes.
READ_TIMEOUT_SECONDS = 300
_CONNECTIONS = 32
_CHUNK = 1 << 20
_S3 = cast("Service", "s3")
_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})


@dataclass(frozen=True)
class StoredObject:
    """A finished object. metadata: as it was given when the upload began. tags: only by S3.tags."""

    size: int
    etag: str
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class OpenUpload:
    """An unfinished upload. S3 tells of its metadata only once it is finished."""

    upload_id: str
    began: datetime


class S3:
    """Bucket and key come first everywhere. Every method raises a DeployerError meant for a person."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def look(self, bucket: str, key: str) -> StoredObject | None:
        """The object, or None. Reads its first byte: unlike HeadObject, S3 then says why it refuses."""
        try:
            answer = self._aws.call(_S3, "GetObject", Bucket=bucket, Key=key, Range="bytes=0-0")
        except AwsError as error:
            if error.aws_code in _MISSING:
                return None
            if error.aws_code == "InvalidRange":
                return StoredObject(0, "", {})
            raise _for_person(error, bucket) from None
        answer["Body"].close()
        size = int(str(answer["ContentRange"]).rpartition("/")[2])
        return StoredObject(size, str(answer["ETag"]), dict(answer.get("Metadata", {})))

    def read(self, bucket: str, key: str, etag: str, start: int, length: int) -> Iterator[bytes]:
        """These bytes of the object with that ETag. Raises OSError when the connection breaks."""
        last = start + length - 1
        answer = self._call(bucket, "GetObject", Key=key, Range=f"bytes={start}-{last}", IfMatch=etag)
        from botocore.exceptions import BotoCoreError, HTTPClientError

        try:
            yield from answer["Body"].iter_chunks(_CHUNK)
        except (BotoCoreError, HTTPClientError) as error:
            raise OSError(str(error)) from None
        finally:
            answer["Body"].close()

    def tags(self, bucket: str, key: str) -> dict[str, str]:
        """The object's tags."""
        answer = self._call(bucket, "GetObjectTagging", Key=key)
        return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}

    def tag(self, bucket: str, key: str, tags: Mapping[str, str]) -> None:
        """Put these tags on the object, beside those it has."""
        both = {**self.tags(bucket, key), **tags}
        pairs = [{"Key": name, "Value": value} for name, value in both.items()]
        self._call(bucket, "PutObjectTagging", Key=key, Tagging={"TagSet": pairs})

    def uploads(self, bucket: str, key: str) -> list[OpenUpload]:
        """Unfinished uploads of exactly this key that carry SHA-256 for their parts, the newest first."""
        found: list[dict[str, Any]] = []
        marker: dict[str, str] = {}
        while True:
            page = self._call(bucket, "ListMultipartUploads", Prefix=key, **marker)
            found += [u for u in page.get("Uploads", ()) if u["Key"] == key and u.get("ChecksumAlgorithm") == "SHA256"]
            if not page.get("IsTruncated"):
                break
            marker = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
        newest = sorted(found, key=lambda upload: cast("datetime", upload["Initiated"]), reverse=True)
        return [OpenUpload(upload["UploadId"], upload["Initiated"]) for upload in newest]

    def begin(self, bucket: str, key: str, metadata: Mapping[str, str]) -> str:
        """Start an upload whose parts S3 checks by SHA-256; returns its id."""
        answer = self._call(
            bucket, "CreateMultipartUpload", Key=key, Metadata=dict(metadata), ChecksumAlgorithm="SHA256"
        )
        return str(answer["UploadId"])

    def parts(self, bucket: str, key: str, upload_id: str) -> dict[int, StoredPart] | None:
        """What S3 holds of an upload, by part number; None when there is no such upload any more."""
        found: dict[int, StoredPart] = {}
        marker = 0
        while True:
            try:
                page = self._aws.call(
                    _S3, "ListParts", Bucket=bucket, Key=key, UploadId=upload_id, PartNumberMarker=marker
                )
            except AwsError as error:
                if error.aws_code == "NoSuchUpload":
                    return None
                raise _for_person(error, bucket) from None
            for row in page.get("Parts", ()):
                digest = row.get("ChecksumSHA256")
                number = int(row["PartNumber"])
                sha256 = base64.b64decode(digest).hex() if digest else None
                found[number] = StoredPart(number, int(row["Size"]), str(row["ETag"]), sha256)
            if not page.get("IsTruncated"):
                return found
            marker = int(page["NextPartNumberMarker"])

    def put_part(self, bucket: str, key: str, upload_id: str, number: int, data: bytearray, sha256: str) -> StoredPart:
        """Send one part; S3 refuses it when it arrives with another digest."""
        answer = self._call(
            bucket,
            "UploadPart",
            Key=key,
            UploadId=upload_id,
            PartNumber=number,
            Body=data,
            ChecksumSHA256=_base64(sha256),
        )
        return StoredPart(number, len(data), str(answer["ETag"]), sha256)

    def complete(self, bucket: str, key: str, upload_id: str, parts: Sequence[StoredPart]) -> None:
        """Make the object out of all its parts."""
        rows = [
            {"PartNumber": part.number, "ETag": part.etag}
            | ({"ChecksumSHA256": _base64(part.sha256)} if part.sha256 else {})
            for part in sorted(parts, key=lambda part: part.number)
        ]
        self._call(bucket, "CompleteMultipartUpload", Key=key, UploadId=upload_id, MultipartUpload={"Parts": rows})

    def abort(self, bucket: str, key: str, upload_id: str) -> None:
        """Delete an upload and its parts; one that is gone is fine."""
        try:
            self._aws.call(_S3, "AbortMultipartUpload", Bucket=bucket, Key=key, UploadId=upload_id)
        except AwsError as error:
            if error.aws_code != "NoSuchUpload":
                raise _for_person(error, bucket) from None

    def _call(self, bucket: str, operation: str, **parameters: Any) -> dict[str, Any]:
        try:
            return self._aws.call(_S3, operation, Bucket=bucket, **parameters)
        except AwsError as error:
            raise _for_person(error, bucket) from None


def connect(region: str, settings: Settings) -> S3:
    """S3 of a region; nothing is called yet. Raises CredentialsError (profile) or RefusedError (region) if unknown."""
    partition = partitions.for_region(region)
    if partition is None:
        raise RefusedError(f"{region!r} is not a region of any partition we know", hint="cn-northwest-1 or cn-north-1")
    return S3(Aws(region, partition, _client_maker(settings)))


def _client_maker(settings: Settings) -> Callable[[Service, str], Any]:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    try:
        session = boto3.Session(profile_name=settings.profile)
    except BotoCoreError as error:
        raise CredentialsError(str(error), where="AWS profile", hint=errors.REHEARSE_HINT) from None
    config = Config(
        retries={"mode": "standard", "max_attempts": RETRIES},
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        max_pool_connections=_CONNECTIONS,
        user_agent_extra=f"deployer/{deployer.__version__}",
    )

    def make(service: Service, region: str) -> Any:
        return session.client(cast("Any", service), region_name=region, config=config)

    return make


def _base64(sha256: str) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _for_person(error: AwsError, bucket: str) -> DeployerError:
    """S3's codes that the common table does not know, and the common answer for the others."""
    match error.aws_code:
        case "NoSuchBucket":
            return RefusedError(
                f"there is no bucket {bucket} in this partition",
                where=error.operation,
                hint=f"make it in the region of your stacks: aws s3 mb s3://{bucket} --region REGION",
            )
        case "NoSuchKey":
            return RefusedError(f"the object is not in bucket {bucket}", where=error.operation)
        case "AccessDenied" | "403":
            return RefusedError(
                f"AWS does not let you: {error.message}", where=error.operation, hint=errors.hint("AccessDenied")
            )
        case "InvalidAccessKeyId":
            return CredentialsError(error.message, where=error.operation, hint=errors.REHEARSE_HINT)
        case "PreconditionFailed":
            return RefusedError(
                "the object changed while it was read", where=error.operation, hint="run the same command again"
            )
        case "NoSuchUpload":
            return RefusedError(
                "the upload was finished or given up by somebody else meanwhile",
                where=error.operation,
                hint="run the same command again: it looks at what is there now",
            )
        case _:
            return errors.for_person(error)
