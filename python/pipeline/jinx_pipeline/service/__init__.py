"""The pipeline as a service: plans and jobs over directories that the person who starts it names, by HTTP."""
