"""Telemetry: runs as traces and metrics, and what another way to measure them needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.telemetry.otel import OpenTelemetry as OpenTelemetry
    from detent.ports.telemetry import Came as Came
    from detent.ports.telemetry import Drive as Drive
    from detent.ports.telemetry import HostFigures as HostFigures
    from detent.ports.telemetry import Leg as Leg
    from detent.ports.telemetry import Model as Model
    from detent.ports.telemetry import Telemetry as Telemetry
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.telemetry.otel": "OpenTelemetry",
            "ports.telemetry": "Came Drive HostFigures Leg Model Telemetry",
        },
    )
