"""Properties here are about values, never about seconds: slow machines must not fail them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("values", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("values")
