"""The names that traces and metrics go by: OpenTelemetry's conventions for generative AI.

They are ours to keep: the conventions are unreleased, and their constants in Python deprecated. The
names under ``detent.`` stand where the conventions have none.
"""

from __future__ import annotations

from typing import Final

# Operations: the first word of a span's name.
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
ASK_HUMAN: Final = "ask_human"

# Attributes of spans.
OPERATION: Final = "gen_ai.operation.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_OPTIONS: Final = {
    name: f"gen_ai.request.{name}"
    for name in (
        *("frequency_penalty", "max_tokens", "presence_penalty", "seed"),
        *("temperature", "top_k", "top_p"),
    )
}
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - a name
ERROR_TYPE: Final = "error.type"

RUN_ID: Final = "detent.run.id"
STATUS: Final = "detent.run.status"
EXIT_REASON: Final = "detent.run.exit_reason"
TURNS: Final = "detent.run.turns"
ATTEMPT: Final = "detent.attempt"
DECISION: Final = "detent.decision"
OUTCOME_UNKNOWN: Final = "detent.outcome_unknown"

# What is only there where it is asked for.
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ON_SPANS: Final = frozenset({"SPAN_ONLY", "SPAN_AND_EVENT", "TRUE"})
"""What of it puts contents on spans; it has no other place here."""

# Metrics.
AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
AGENT_INFERENCES: Final = "gen_ai.invoke_agent.inference_calls"
AGENT_TOOL_CALLS: Final = "gen_ai.invoke_agent.tool_calls"
TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
INFERENCE_DURATION: Final = "gen_ai.client.inference.duration"
INFERENCE_INPUT: Final = "gen_ai.client.inference.usage.input_tokens"
INFERENCE_OUTPUT: Final = "gen_ai.client.inference.usage.output_tokens"
FORMER_DURATION: Final = "gen_ai.client.operation.duration"
FORMER_TOKENS: Final = "gen_ai.client.token.usage"
HUMAN_DURATION: Final = "detent.ask_human.duration"
UNKNOWN_OUTCOMES: Final = "detent.execute_tool.unknown_outcomes"
HUMAN_WAITING: Final = "detent.ask_human.waiting"
HUMAN_OLDEST: Final = "detent.ask_human.oldest_wait"
HOST_READY: Final = "detent.host.ready"
HOST_RUNNING: Final = "detent.host.running"
HOST_WAITING: Final = "detent.host.waiting"
HOST_FAULTS: Final = "detent.host.faults"

SECONDS: Final = (
    *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
)
"""The bounds of durations, as the conventions advise."""
WAITS: Final = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0, 604800.0)
"""The bounds of waits for humans: from a second to a week."""
TOKENS: Final = tuple(4.0**power for power in range(14))
"""The bounds of counts of tokens, as the conventions advise."""

PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "bedrock-anthropic": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai-responses": "openai",
    "vertex": "gcp.vertex_ai",
    "vertex-anthropic": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""What the conventions call providers that have another name here."""
