"""OpenAI's Responses API, as OpenAI and other servers speak it."""
