"""Operators on traces of agents: dialogs with tool calls."""
