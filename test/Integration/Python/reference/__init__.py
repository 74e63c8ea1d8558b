"""Attention methods as their papers define them, in float64 NumPy over whole arrays.

They are independent of the oracle, and share neither code nor structure with it. Queries are
[B, T, HQ, D], keys and values [B, S, H, D] and [B, S, H, DV]; the queries are the last T positions.
"""
