"""E8: public parameters lead to images; images are found by owner, newest by date."""

from __future__ import annotations

import pytest

from deployer.catalog import partition


@pytest.mark.parametrize(("architecture", "gpu"), [("arm64", False), ("x86_64", False), ("x86_64", True)])
def test_the_catalogue_finds_an_image_by_parameter_and_by_owner(boto, architecture, gpu):
    ssm, ec2 = boto("ssm"), boto("ec2")
    owners = partition.for_region("cn-northwest-1").image_owners
    by_parameter = []
    by_owner = []
    for candidate in partition.ami_parameters(architecture, gpu):
        try:
            image = ssm.get_parameter(Name=candidate.parameter_name)["Parameter"]["Value"]
            by_parameter += ec2.describe_images(ImageIds=[image])["Images"]
        except ssm.exceptions.ParameterNotFound:
            pass
        owner = owners.get(candidate.owner_key, candidate.owner_key)
        by_owner += ec2.describe_images(Owners=[owner], Filters=[{"Name": "name", "Values": [candidate.name_glob]}])[
            "Images"
        ]
    for found in (by_parameter, by_owner):
        assert found
        assert {image["Architecture"] for image in found} == {architecture}


def test_there_is_no_deep_learning_image(boto, refused):
    name = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"
    assert refused(boto("ssm").get_parameter, Name=name) == "ParameterNotFound"


def test_images_of_an_owner_differ_in_age_and_know_their_disk(boto):
    found = boto("ec2").describe_images(
        Owners=["837727238323"], Filters=[{"Name": "name", "Values": ["*noble*amd64*"]}]
    )
    images = sorted(found["Images"], key=lambda image: image["CreationDate"])
    assert [image["CreationDate"][:7] for image in images] == ["2026-04", "2026-11"]
    assert images[0]["RootDeviceName"] == "/dev/sda1"
    assert images[0]["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 8


def test_an_unknown_image_is_not_found(boto, refused):
    assert refused(boto("ec2").describe_images, ImageIds=["ami-00000000000000000"]) == "InvalidAMIID.NotFound"


def test_regions_have_images_of_their_own(boto):
    name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64"
    values = {
        boto("ssm", region=r).get_parameter(Name=name)["Parameter"]["Value"] for r in ("cn-northwest-1", "cn-north-1")
    }
    assert len(values) == 2
