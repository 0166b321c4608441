"""Which samples share a sequence: plans, schedules, and the stages that lead to them."""
