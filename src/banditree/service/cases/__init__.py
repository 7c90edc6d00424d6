"""Cases: one person, customer or machine that a plan is followed for, from its first round to its last."""
