"""Compares recipes by what a model learns from their outputs: the user's commands, budgets, seeds, controls."""
