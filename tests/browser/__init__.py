"""The web page in a real Chromium."""
