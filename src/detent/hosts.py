"""Hosts: where runs live by themselves, and the port for one of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.hosts.blocking import BlockingHost as BlockingHost
    from detent.adapters.hosts.effects.contract import EffectsRefusedError as EffectsRefusedError
    from detent.adapters.hosts.engines.dbos import DBOSHost as DBOSHost
    from detent.adapters.hosts.engines.host import EngineOptions as EngineOptions
    from detent.adapters.hosts.engines.host import EngineUnavailableError as EngineUnavailableError
    from detent.adapters.hosts.engines.restate import RestateHost as RestateHost
    from detent.adapters.hosts.engines.temporal import TemporalHost as TemporalHost
    from detent.adapters.hosts.faults import HostHealth as HostHealth
    from detent.adapters.hosts.local import LocalHost as LocalHost
    from detent.adapters.hosts.places import HostLimits as HostLimits
    from detent.adapters.hosts.signals import serve_until_signal as serve_until_signal
    from detent.core.storage.rules import rules_fingerprint as rules_fingerprint
    from detent.ports.hosting import Accepted as Accepted
    from detent.ports.hosting import Fork as Fork
    from detent.ports.hosting import Host as Host
    from detent.ports.hosting import HostedAgent as HostedAgent
    from detent.ports.hosting import HostedRun as HostedRun
    from detent.ports.hosting import HostRefusal as HostRefusal
    from detent.ports.hosting import PendingQuestion as PendingQuestion
    from detent.ports.hosting import Piece as Piece
    from detent.ports.hosting import Revoke as Revoke
    from detent.ports.hosting import RunProof as RunProof
    from detent.ports.hosting import Sent as Sent
    from detent.ports.hosting import TryAgain as TryAgain
    from detent.ports.hosting import Watched as Watched
    from detent.ports.listing import HostNotOpenError as HostNotOpenError
    from detent.ports.listing import HostOpenError as HostOpenError
    from detent.ports.listing import UnknownAgentError as UnknownAgentError
    from detent.ports.listing import WaitingQuestions as WaitingQuestions
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.hosts.blocking": "BlockingHost",
            "adapters.hosts.effects.contract": "EffectsRefusedError",
            "core.storage.rules": "rules_fingerprint",
            "adapters.hosts.engines.dbos": "DBOSHost",
            "adapters.hosts.engines.host": "EngineOptions EngineUnavailableError",
            "adapters.hosts.engines.restate": "RestateHost",
            "adapters.hosts.engines.temporal": "TemporalHost",
            "adapters.hosts.local": "LocalHost",
            "adapters.hosts.places": "HostLimits",
            "adapters.hosts.signals": "serve_until_signal",
            "adapters.hosts.faults": "HostHealth",
            "ports.hosting": (
                "Accepted Fork Host HostRefusal HostedAgent HostedRun PendingQuestion Piece "
                "Revoke RunProof Sent TryAgain Watched"
            ),
            "ports.listing": "HostNotOpenError HostOpenError UnknownAgentError WaitingQuestions",
        },
    )
