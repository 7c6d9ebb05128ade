"""EC2 takes at most 16,384 bytes of user data, counted after base64 decoding (E2). The wording is recalled."""

from __future__ import annotations

import base64
import binascii

from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply

USER_DATA_BYTES = 16_384


def user_data_limit(call: Call, proceed: Proceed) -> Reply:
    """The rule."""
    if call.is_("ec2", "RunInstances", "CreateLaunchTemplate", "CreateLaunchTemplateVersion"):
        text = call.form.get("UserData") or call.form.get("LaunchTemplateData.UserData") or ""
        try:
            size = len(base64.b64decode(text, validate=False))
        except binascii.Error as error:
            raise Refusal("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from error
        if size > USER_DATA_BYTES:
            raise Refusal("InvalidParameterValue", f"User data is limited to {USER_DATA_BYTES} bytes")
    return proceed(call)
