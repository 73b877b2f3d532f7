"""Files of other trackers, read without their programs: their bytes are nobody's word until they are checked."""
