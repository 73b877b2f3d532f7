"""Reads what the checks look at; changes nothing."""
