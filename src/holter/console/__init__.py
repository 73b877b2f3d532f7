"""What a program printed: kept as raw bytes with times, moved past us without harm, shown as a terminal would."""
