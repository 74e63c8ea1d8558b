"""Checks of the repository itself. Each module has `check(root)` that returns problems."""
