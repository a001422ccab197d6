from support.fixtures import quiet_callbacks, sdk

__all__ = ["quiet_callbacks", "sdk"]
