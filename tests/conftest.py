"""Settings of every test: hypothesis sets no deadline, since the first example of a run may compile a kernel."""

from hypothesis import settings

settings.register_profile("bonsai", deadline=None)
settings.load_profile("bonsai")
