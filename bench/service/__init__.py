"""How fast the service answers while a job runs."""
