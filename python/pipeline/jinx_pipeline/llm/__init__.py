"""Language models behind OpenAI-compatible URLs: the client, kept answers, prompts, and answers by JSON Schema."""
