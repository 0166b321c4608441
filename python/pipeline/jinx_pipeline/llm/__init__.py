"""Language models behind OpenAI-compatible URLs: the client, stored answers, prompts, and answers by JSON Schema."""
