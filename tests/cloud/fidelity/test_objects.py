"""S3 through the embedded cloud."""

from __future__ import annotations

import io

import pytest
from botocore.exceptions import ClientError

BODY = b"GGUF" + bytes(99_996)


@pytest.fixture
def bucket(account) -> str:
    """Names of buckets are one for all accounts."""
    return f"models-{account}"


@pytest.fixture
def s3(boto, bucket):
    made = boto("s3")
    made.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "cn-northwest-1"})
    return made


def test_the_head_of_an_object_has_its_length(s3, bucket):
    where = {"Bucket": bucket, "Key": "a b/m.gguf"}
    s3.put_object(Body=BODY, **where)
    assert s3.head_object(**where)["ContentLength"] == len(BODY)
    assert s3.get_object(**where)["ContentLength"] == len(BODY)
    part = s3.get_object(Range="bytes=10-19", **where)
    assert (part["ContentLength"], part["Body"].read()) == (10, BODY[10:20])


def test_the_head_of_nothing(s3, bucket):
    with pytest.raises(ClientError) as caught:
        s3.head_object(Bucket=bucket, Key="none")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_a_connection_is_usable_after_a_head(s3, bucket):
    where = {"Bucket": bucket, "Key": "m.gguf"}
    s3.upload_fileobj(io.BytesIO(BODY), **where)
    for _ in range(3):
        s3.head_object(**where)
        assert s3.get_object(**where)["Body"].read() == BODY
