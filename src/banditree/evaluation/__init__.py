"""What a plan is worth on cases it was not made from, and the choice of a plan by that worth."""
