from support.fixtures import _quiet_callbacks, _sdk  # noqa: F401 - what is imported here is a fixture here
