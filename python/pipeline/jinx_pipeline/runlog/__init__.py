"""What a run has done: the record that restarts and resumes believe."""
