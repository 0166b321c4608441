"""Carries out the decisions of the scheduler; makes no decisions itself and knows no operators."""
