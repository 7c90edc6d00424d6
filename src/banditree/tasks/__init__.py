"""What is known: collections of tasks, their rewards and contexts, and how far apart they are."""
