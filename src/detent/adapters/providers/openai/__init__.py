"""OpenAI Chat Completions, as OpenAI and every compatible server speak it."""
