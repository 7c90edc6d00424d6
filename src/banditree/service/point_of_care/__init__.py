"""The next step where care is given: CDS Hooks 2.0, by which clinical systems ask when a patient's chart is opened."""
