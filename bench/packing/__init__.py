"""Packers compared."""
