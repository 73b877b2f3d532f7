"""Every promise of holter, as a test that fails without it."""

from pathlib import Path

from holter.storage import engines

# The plain engine of the tests stands beside those of the product, and is held to what they promise.
engines.__path__.append(str(Path(__file__).parent / "engines"))
