"""The product: plans as data, and how they are built, worded and evaluated."""
