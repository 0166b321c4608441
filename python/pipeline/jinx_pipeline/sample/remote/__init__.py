"""Files on servers: downloads that can be resumed, and uploads, over HTTP and S3."""
