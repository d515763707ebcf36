"""OpenTelemetry: runs as traces and metrics, by the conventions for generative AI."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from detent.adapters.system.installation import install_command
from detent.adapters.system.threads_and_loops import in_another_thread
from detent.adapters.telemetry.contents import Contents, are_wanted
from detent.ports.telemetry import Drive, HostFigures

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from detent.adapters.telemetry.legs import TracedLeg

NAME = "detent"


class OpenTelemetry:
    """Measures runs with OpenTelemetry: ``Agent(…, telemetry=OpenTelemetry())``.

    Each time that a process drives a run there is a span ``invoke_agent``, below it one for each
    model call, tool, agent inside, and question to a human; tools and HTTP clients that make spans
    of their own stand below these. A run that goes on in another process links to where it began.
    What is sampled, and where it is sent, says the SDK that the program has set up; without one,
    nothing is measured. It may be shared by agents, threads and event loops.

    Args:
        contents: put what was said and done on the spans: messages, arguments, results. Without a
            word the environment says so, by OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT.
            Secret parameters are masked, and what a `RedactedJournal` takes out is out here, too.
        redact: what of each text may stand there, beside that.
        tracer_provider: in place of the program's own.
        meter_provider: in place of the program's own.

    Raises:
        ImportError: opentelemetry-api is not installed: the extra ``otel`` brings it.
    """

    def __init__(
        self,
        *,
        contents: bool | None = None,
        redact: Callable[[str], str] | None = None,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise ImportError(
                f"telemetry needs opentelemetry-api: {install_command('otel')}"
            ) from error
        from detent.adapters.telemetry.instruments import Instruments

        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
        self._meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        self._instruments = Instruments(self._meter)
        self._providers = (tracer_provider, meter_provider)
        self._has_contents = are_wanted() if contents is None else contents
        self._redact = redact

    def flush(self) -> None:
        """Have the SDK send what it holds, and wait for that. A host does so when it closes.

        RULE: spans and metrics may go to two places, and each is sent whatever is wrong with the
        other: it may also be away, and hold whoever waits for it.

        Raises:
            Exception: what went wrong with one; of both, a group of it.
        """
        from opentelemetry import metrics, trace

        traces, meters = self._providers
        providers = (traces or trace.get_tracer_provider(), meters or metrics.get_meter_provider())
        flushes = [getattr(provider, "force_flush", None) for provider in providers]
        # the API alone has none, and holds nothing
        sending = [in_another_thread(each) for each in flushes if each is not None]
        errors = [error for sent in sending if (error := sent.exception()) is not None]
        if len(errors) > 1:
            raise BaseExceptionGroup("neither spans nor metrics could be sent", errors)
        if errors:
            raise errors[0]

    def measure_host(self, read: Callable[[], HostFigures]) -> Callable[[], object]:
        """As `Telemetry.measure_host` says: the gauges of hosts and of questions read it."""
        from detent.adapters.telemetry.gauges import gauges_of

        return gauges_of(self._providers[1], self._meter).add(read)

    def begin(self, drive: Drive) -> TracedLeg:
        """As `Telemetry.begin` says."""
        from detent.adapters.telemetry.legs import TracedLeg

        contents = None
        if self._has_contents:
            contents = Contents(tuple(filter(None, (drive.redact, self._redact))))
        return TracedLeg(self._tracer, self._instruments, contents, drive)
