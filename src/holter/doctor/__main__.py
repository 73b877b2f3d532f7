"""Examines the machine for a program that asked: an `Asked` on stdin, findings on stdout, both as JSON."""

import sys

import msgspec

from holter.doctor.finding import examine_machine
from holter.doctor.gather import gather
from holter.doctor.machine import Asked

if __name__ == "__main__":
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
    sys.stdout.buffer.write(msgspec.json.encode(examine_machine(gather(asked))))
