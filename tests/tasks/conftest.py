"""The door of the integration tests, for whole tasks."""

from __future__ import annotations

from tests.integration.conftest import door as door
