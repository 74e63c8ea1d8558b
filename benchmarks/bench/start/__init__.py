"""How long a process takes until a program's first result."""
