"""The distance of each tuning effort from the fastest schedule."""
