"""What `make zoo` runs, and how often."""

from collections import Counter

from tests.zoo.__main__ import plan
from tests.zoo.fault import Fault, Place
from tests.zoo.modes import RUN, STANDARD, Mode

DEATH = Fault(name="dies", program="", state="crashed", cause="killed")
END = Fault(name="ends", program="", state="finished")
JOB = Fault(name="is a job", program="", state="finished", place=Place(job=("--mem=50",)))


def test_normal_ends_come_as_many_times_as_often() -> None:
    wanted = plan([DEATH, END], [STANDARD, Mode(watch=RUN)], times=2, normal_times=5)
    assert Counter(fault.name for fault, _ in wanted) == {"dies": 4, "ends": 20}


def test_modes_that_make_no_sense_for_a_fault_are_left_out() -> None:
    wanted = plan([JOB], [STANDARD, Mode(user="user")], times=1, normal_times=3)
    assert wanted == [(JOB, STANDARD)] * 3


def test_every_second_fault_is_another_one_in_the_next_mode() -> None:
    wanted = plan([DEATH, END], [STANDARD, Mode(watch=RUN)], times=1, normal_times=1, every=2)
    assert wanted == [(DEATH, STANDARD), (END, Mode(watch=RUN))]
