"""The pipeline as a service over HTTP: plans and jobs for directories that the operator of the service names."""
