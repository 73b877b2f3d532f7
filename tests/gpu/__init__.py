"""What only a real NVIDIA GPU can show: `make gpu` runs it there, and keeps what was seen for machines without one.

Nothing here is a test that pytest collects: the machine with the GPU may have no pytest, and no network.
"""
