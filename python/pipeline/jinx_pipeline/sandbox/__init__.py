"""Compares recipes by what a model learns from their outputs: commands of the user, budgets, seeds, controls."""
