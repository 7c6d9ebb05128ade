"""E2: 16,384 bytes of user data and no more."""

from __future__ import annotations

import gzip
import os

import pytest


@pytest.mark.parametrize(("size", "code"), [(16_384, None), (16_385, "InvalidParameterValue")])
def test_the_limit_is_exact(ec2, refused, size, code):
    if code is None:
        assert ec2.run(UserData="x" * size)["InstanceId"]
    else:
        assert refused(ec2.run, UserData="x" * size) == code
        assert ec2.count() == 0


def test_binary_user_data_arrives_unchanged(cloud, ec2):
    data = gzip.compress(os.urandom(3000))
    made = ec2.run(UserData=data)["InstanceId"]
    assert cloud.fleet.get(made).launch.user_data == data
