"""How far from the fastest schedule each effort of tuning ends."""
