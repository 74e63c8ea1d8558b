"""Times of a process until a program's first result."""
