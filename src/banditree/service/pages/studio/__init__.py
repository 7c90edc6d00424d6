"""The pages of the studio: New plan, in five steps that can be left and resumed."""
