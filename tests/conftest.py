"""How many examples hypothesis tries: HYPOTHESIS_PROFILE is `ci` (the default; the same ones every time) or `deep`."""

import os

from hypothesis import HealthCheck, settings

# Nothing here asserts how long something takes: the machine may be busy.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("ci", max_examples=50, derandomize=True, **_UNTIMED)
settings.register_profile("deep", max_examples=2_000, print_blob=True, **_UNTIMED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
