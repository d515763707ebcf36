"""Models: every chat generator with its options, and what a chat generator of one's own needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.providers.anthropic.chat import (
        AnthropicChatGenerator as AnthropicChatGenerator,
    )
    from detent.adapters.providers.anthropic.clouds import (
        BedrockAnthropicChatGenerator as BedrockAnthropicChatGenerator,
    )
    from detent.adapters.providers.anthropic.clouds import (
        VertexAnthropicChatGenerator as VertexAnthropicChatGenerator,
    )
    from detent.adapters.providers.bedrock.chat import AccessKey as AccessKey
    from detent.adapters.providers.bedrock.chat import BedrockChatGenerator as BedrockChatGenerator
    from detent.adapters.providers.bedrock.profiles import AwsProfile as AwsProfile
    from detent.adapters.providers.cohere.chat import CohereChatGenerator as CohereChatGenerator
    from detent.adapters.providers.fallback import FallbackChatGenerator as FallbackChatGenerator
    from detent.adapters.providers.gemini.chat import GeminiChatGenerator as GeminiChatGenerator
    from detent.adapters.providers.gemini.chat import VertexChatGenerator as VertexChatGenerator
    from detent.adapters.providers.http.caller import Timeouts as Timeouts
    from detent.adapters.providers.http.endpoints import Endpoint as Endpoint
    from detent.adapters.providers.http.secrets import Secret as Secret
    from detent.adapters.providers.local.chat import LocalChatGenerator as LocalChatGenerator
    from detent.adapters.providers.meaning.server_tools import CodeExecution as CodeExecution
    from detent.adapters.providers.meaning.server_tools import ComputerUse as ComputerUse
    from detent.adapters.providers.meaning.server_tools import FileSearch as FileSearch
    from detent.adapters.providers.meaning.server_tools import ServerTool as ServerTool
    from detent.adapters.providers.meaning.server_tools import WebSearch as WebSearch
    from detent.adapters.providers.meaning.thinking import ThinkingLevel as ThinkingLevel
    from detent.adapters.providers.ollama.chat import OllamaChatGenerator as OllamaChatGenerator
    from detent.adapters.providers.openai.chat import OpenAIChatGenerator as OpenAIChatGenerator
    from detent.adapters.providers.openai.profiles import Profile as Profile
    from detent.adapters.providers.openai.servers import (
        AzureOpenAIChatGenerator as AzureOpenAIChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        CerebrasChatGenerator as CerebrasChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        DeepSeekChatGenerator as DeepSeekChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        FireworksChatGenerator as FireworksChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        GitHubModelsChatGenerator as GitHubModelsChatGenerator,
    )
    from detent.adapters.providers.openai.servers import GroqChatGenerator as GroqChatGenerator
    from detent.adapters.providers.openai.servers import (
        HuggingFaceChatGenerator as HuggingFaceChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        LiteLLMChatGenerator as LiteLLMChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        LlamaCppChatGenerator as LlamaCppChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        MistralChatGenerator as MistralChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        MoonshotChatGenerator as MoonshotChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        OllamaV1ChatGenerator as OllamaV1ChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        OpenRouterChatGenerator as OpenRouterChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        PerplexityChatGenerator as PerplexityChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        SnowflakeChatGenerator as SnowflakeChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        TogetherChatGenerator as TogetherChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        VercelChatGenerator as VercelChatGenerator,
    )
    from detent.adapters.providers.openai.servers import VLLMChatGenerator as VLLMChatGenerator
    from detent.adapters.providers.openai.servers import XAIChatGenerator as XAIChatGenerator
    from detent.adapters.providers.openai.servers import (
        ZAIChatGenerator as ZAIChatGenerator,
    )
    from detent.adapters.providers.openai_responses.chat import (
        OpenAIResponsesChatGenerator as OpenAIResponsesChatGenerator,
    )
    from detent.adapters.providers.registry import chat_generator as chat_generator
    from detent.adapters.testing.doubles.scripted import (
        ScriptedChatGenerator as ScriptedChatGenerator,
    )
    from detent.core.chat.messages import Citation as Citation
    from detent.core.chat.replies import ChatReply as ChatReply
    from detent.core.chat.replies import ModelFailure as ModelFailure
    from detent.core.chat.replies import SchemaMode as SchemaMode
    from detent.core.chat.replies import TokenLogprob as TokenLogprob
    from detent.core.chat.replies import Usage as Usage
    from detent.core.tools.tool import ToolSpec as ToolSpec
    from detent.ports.chat import AsyncChatGenerator as AsyncChatGenerator
    from detent.ports.chat import ChatGenerator as ChatGenerator
    from detent.ports.chat import ChatGeneratorError as ChatGeneratorError
    from detent.ports.chat import StreamingCallback as StreamingCallback
    from detent.ports.chat import StreamingChunk as StreamingChunk
    from detent.ports.chat import ToolCallDelta as ToolCallDelta
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.providers.anthropic.chat": "AnthropicChatGenerator",
            "adapters.providers.anthropic.clouds": (
                "BedrockAnthropicChatGenerator VertexAnthropicChatGenerator"
            ),
            "adapters.providers.bedrock.chat": "AccessKey BedrockChatGenerator",
            "adapters.providers.bedrock.profiles": "AwsProfile",
            "adapters.providers.cohere.chat": "CohereChatGenerator",
            "adapters.providers.fallback": "FallbackChatGenerator",
            "adapters.providers.gemini.chat": "GeminiChatGenerator VertexChatGenerator",
            "adapters.providers.http.caller": "Timeouts",
            "adapters.providers.http.endpoints": "Endpoint",
            "adapters.providers.http.secrets": "Secret",
            "adapters.providers.meaning.server_tools": (
                "CodeExecution ComputerUse FileSearch ServerTool WebSearch"
            ),
            "adapters.providers.meaning.thinking": "ThinkingLevel",
            "adapters.providers.local.chat": "LocalChatGenerator",
            "adapters.providers.ollama.chat": "OllamaChatGenerator",
            "adapters.providers.openai.chat": "OpenAIChatGenerator",
            "adapters.providers.openai.profiles": "Profile",
            "adapters.providers.openai.servers": (
                "AzureOpenAIChatGenerator CerebrasChatGenerator DeepSeekChatGenerator "
                "FireworksChatGenerator GitHubModelsChatGenerator GroqChatGenerator "
                "HuggingFaceChatGenerator LiteLLMChatGenerator LlamaCppChatGenerator "
                "MistralChatGenerator MoonshotChatGenerator OllamaV1ChatGenerator "
                "OpenRouterChatGenerator PerplexityChatGenerator SnowflakeChatGenerator "
                "TogetherChatGenerator VLLMChatGenerator VercelChatGenerator XAIChatGenerator "
                "ZAIChatGenerator"
            ),
            "adapters.providers.openai_responses.chat": "OpenAIResponsesChatGenerator",
            "adapters.providers.registry": "chat_generator",
            "adapters.testing.doubles.scripted": "ScriptedChatGenerator",
            "core.chat.messages": "Citation",
            "core.chat.replies": "ChatReply ModelFailure SchemaMode TokenLogprob Usage",
            "core.tools.tool": "ToolSpec",
            "ports.chat": (
                "AsyncChatGenerator ChatGenerator ChatGeneratorError StreamingCallback "
                "StreamingChunk ToolCallDelta"
            ),
        },
    )
