"""What a call costs the host."""
