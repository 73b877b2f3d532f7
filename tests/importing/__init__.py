"""What other trackers kept becomes runs."""
