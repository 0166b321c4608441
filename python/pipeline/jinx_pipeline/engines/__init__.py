"""Carries out the decisions of the scheduler; has no policy and knows no operator."""
