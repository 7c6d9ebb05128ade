"""A SecureString is ciphertext unless decryption is asked for."""

from __future__ import annotations

SECRET = "sk-a-very-secret-key"


def test_plain_text_only_with_decryption(boto):
    ssm = boto("ssm")
    ssm.put_parameter(Name="/k/1", Value=SECRET, Type="SecureString")
    assert ssm.get_parameter(Name="/k/1", WithDecryption=True)["Parameter"]["Value"] == SECRET
    for found in (
        ssm.get_parameter(Name="/k/1")["Parameter"],
        ssm.get_parameters(Names=["/k/1"])["Parameters"][0],
        ssm.get_parameters_by_path(Path="/k")["Parameters"][0],
    ):
        assert SECRET not in found["Value"]


def test_other_parameters_are_left_alone(boto):
    ssm = boto("ssm")
    ssm.put_parameter(Name="/k/2", Value="kms:is not secret", Type="String")
    ssm.put_parameter(Name="/k/1", Value=SECRET, Type="SecureString")
    found = {p["Name"]: p["Value"] for p in ssm.get_parameters_by_path(Path="/k")["Parameters"]}
    assert found["/k/2"] == "kms:is not secret"


def test_a_parameter_is_created_once(boto, refused):
    ssm = boto("ssm")
    ssm.put_parameter(Name="/k/3", Value="1", Type="String")
    assert refused(ssm.put_parameter, Name="/k/3", Value="2", Type="String") == "ParameterAlreadyExists"
    assert ssm.put_parameter(Name="/k/3", Value="2", Type="String", Overwrite=True)["Version"] == 2
