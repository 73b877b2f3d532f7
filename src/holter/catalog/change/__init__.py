"""All that alters a run or its directory: completing, marking, deleting."""
