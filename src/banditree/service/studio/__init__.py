"""The studio: from a spreadsheet to a signed plan, in drafts that can be left and resumed."""
