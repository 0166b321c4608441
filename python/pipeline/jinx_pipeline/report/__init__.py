"""Reports for users: progress, totals of operators, analysis, quarantine."""
