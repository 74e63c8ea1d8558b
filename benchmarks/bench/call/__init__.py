"""Times of the host for a call."""
