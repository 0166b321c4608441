"""Images, sounds and videos for tests and benchmarks: made on the spot, each property known."""
