"""The private names of moto that the rules lean on. When one moves, this says which, before anything else breaks."""

from __future__ import annotations

import inspect


def test_the_server_app():
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    assert callable(DomainDispatcherApplication(create_backend_app))


def test_backends_are_kept_by_account_and_region(cloud, boto):
    from moto.backends import get_backend
    from moto.core.base_backend import BackendDict

    boto("ec2").describe_vpcs()
    by_region = get_backend("ec2")[cloud.world.account]
    assert "cn-northwest-1" in by_region.regions
    assert get_backend("ec2") in BackendDict._instances
    assert by_region.service_name == "ec2"


def test_the_account_header_decides():
    from moto.core.responses import BaseResponse

    assert "x-moto-account-id" in inspect.getsource(BaseResponse.get_current_account)


def test_the_ec2_backend():
    from moto.ec2.models import EC2Backend
    from moto.ec2.models.instances import Instance, InstanceBackend

    parameters = list(inspect.signature(InstanceBackend.run_instances).parameters)
    assert parameters == ["self", "image_id", "count", "user_data", "security_group_names", "kwargs"]
    for name in ("terminate", "stop", "start", "reboot"):
        assert callable(getattr(Instance, name))
    for name in (
        "all_reservations",
        "describe_security_groups",
        "get_security_group_from_id",
        "get_security_group_from_name",
        "_get_template_from_args",
        "_create_default_encryption_key",
    ):
        assert callable(getattr(EC2Backend, name))
    groups = list(inspect.signature(EC2Backend.describe_security_groups).parameters)
    assert groups == ["self", "group_ids", "groupnames", "filters"]


def test_an_instance_has_what_the_rules_set(cloud, ec2):
    instance = cloud.fleet.get(ec2.run()["InstanceId"]).instance
    for name in ("_state", "_reason", "state_reason", "nics", "block_device_mapping", "client_token", "lifecycle"):
        assert hasattr(instance, name), name
    interface = instance.nics[0]
    for name in ("delete_on_termination", "private_ip_address", "private_ip_addresses", "public_ip", "group_set"):
        assert hasattr(interface, name), name
    volume = next(iter(instance.ec2_backend.volumes.values()))
    for name in ("iops", "throughput", "volume_type"):
        assert hasattr(volume, name), name


def test_tables_that_are_seeded():
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS
    from moto.ec2.utils import filter_dict_attribute_mapping

    assert {"region", "availability-zone"} <= set(INSTANCE_TYPE_OFFERINGS)
    assert filter_dict_attribute_mapping["instance-id"] == "id"


def test_the_parameter_store():
    from moto.ssm.models import ParameterDict

    store = ParameterDict("111122223333", "cn-northwest-1")
    for name in ("latest_amis_loaded", "latest_ecs_amis_loaded"):
        assert getattr(store, name) is False
