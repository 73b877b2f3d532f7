"""Makes runs of what other trackers kept; `sources` has one file for each of them."""
