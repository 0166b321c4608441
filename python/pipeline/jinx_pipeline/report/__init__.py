"""What people see: progress, figures of operators, analysis, quarantine."""
