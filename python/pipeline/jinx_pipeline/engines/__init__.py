"""What carries out the scheduler's decisions; no policy, and no knowledge of any operator."""
