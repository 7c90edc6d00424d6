"""The paper's panels and our own experiments, as data, and what they show."""
