"""Instance profiles as EC2 sees them: checked at launch, and for a while after creation not yet there (E18)."""

from __future__ import annotations

from typing import Any

from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply
from deployer.rehearsal.fidelity.world import World


def find_profile(account: str, partition: str, name: str | None, arn: str | None) -> Any | None:
    """The instance profile of that name or ARN, or None."""
    from moto.iam.models import iam_backends

    profiles = iam_backends[account][partition].instance_profiles.values()
    return next((p for p in profiles if (name and p.name == name) or (arn and p.arn == arn)), None)


class ProfileRule:
    """Stamps profiles when they become usable, and checks them when an instance is launched with one."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if call.is_("ec2", "RunInstances"):
            self._check(call)
        if call.is_("iam", "RemoveRoleFromInstanceProfile"):
            self._check_role(call)
        reply = proceed(call)
        if call.is_("iam", "AddRoleToInstanceProfile") and reply.status == 200:
            ready = self._world.clock.monotonic() + self._world.options.profile_lag_seconds
            self._world.profiles_ready[call.form.get("InstanceProfileName", "")] = ready
        return reply

    def _check_role(self, call: Call) -> None:
        """Moto breaks on a role that is not in the profile, as it is when the reply to the first call was lost."""
        from moto.utilities.utils import get_partition

        name, role = call.form.get("InstanceProfileName"), call.form.get("RoleName")
        profile = find_profile(self._world.account, get_partition(call.region), name, None)
        if profile is not None and role not in [member.name for member in profile.roles]:
            raise Refusal("NoSuchEntity", f"The role with name {role} cannot be found.", 404)

    def _check(self, call: Call) -> None:
        name, arn = call.form.get("IamInstanceProfile.Name"), call.form.get("IamInstanceProfile.Arn")
        if not name and not arn:
            return
        from moto.utilities.utils import get_partition

        profile = find_profile(self._world.account, get_partition(call.region), name, arn)
        late = profile and self._world.profiles_ready.get(profile.name, 0.0) > self._world.clock.monotonic()
        if profile is None or late:
            field, word = ("name", "name") if name else ("arn", "ARN")
            raise Refusal(
                "InvalidParameterValue",
                f"Value ({name or arn}) for parameter iamInstanceProfile.{field} is invalid. "
                f"Invalid IAM Instance Profile {word}",
            )
        if not profile.roles:
            raise Refusal("InvalidParameterValue", f'IAM Instance Profile "{profile.arn}" has no associated IAM Roles')
