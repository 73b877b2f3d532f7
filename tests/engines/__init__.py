"""Engines that only tests open, found like those of the product."""
