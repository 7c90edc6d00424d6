"""The product: what a plan is, how boxes become one, what must hold for it, and how it is put into words."""
