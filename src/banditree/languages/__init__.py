"""The languages of plans, cards, the app and the console: one gettext catalogue (.po) per language, in this folder."""
