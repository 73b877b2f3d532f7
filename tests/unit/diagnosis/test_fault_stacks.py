"""Which of the stacks that Python writes at a fatal signal people are shown."""

from holter.diagnosis.fault_stacks import lines_at_fault, stack_at_fault
from holter.diagnosis.ranking import diagnose
from tests.causes.specimens import caught, evidence, signalled

# As Python 3.11 wrote it of a program that records.
OURS = """\
Thread 0x00007f4742fa46c0 (most recent call first):
  File "/venv/lib/python3.11/site-packages/holter/wire/way_back.py", line 150 in messages
  File "/venv/lib/python3.11/site-packages/holter/client/sidecar_link.py", line 84 in _receive
  File "/usr/lib/python3.11/threading.py", line 982 in run
  File "/usr/lib/python3.11/threading.py", line 1045 in _bootstrap_inner
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap
"""
DEAD = """\
Current thread 0x00007f4744002b80 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/home/ada/train.py", line 4 in step
  File "/home/ada/train.py", line 9 in <module>
"""
FIRST = DEAD.replace("Current thread", "Thread")
HEAD = "Fatal Python error: Segmentation fault\n\n"
TAIL = "\nExtension modules: msgspec._core (total: 1)\n"


def test_the_thread_that_died_is_shown_and_no_other() -> None:
    assert lines_at_fault(f"{HEAD}{OURS}\n{DEAD}{TAIL}", 8) == [
        'File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at',
        'File "/home/ada/train.py", line 4 in step',
        'File "/home/ada/train.py", line 9 in <module>',
    ]


def test_where_native_code_s_own_thread_died_the_first_one_is_shown_and_said_to_be_that() -> None:
    [head, *lines] = lines_at_fault(f"{HEAD}{OURS}\n{FIRST}\n{TAIL}", 8)
    assert head == "it was a thread of native code; Python's first thread was at"
    assert lines[1] == 'File "/home/ada/train.py", line 4 in step'


def test_a_thread_of_ours_is_never_shown_not_even_where_it_was_the_one() -> None:
    assert "way_back" not in str(lines_at_fault(f"{HEAD}{FIRST}\n{OURS.replace('Thread', 'Current thread', 1)}", 8))
    assert lines_at_fault(f"{HEAD}{OURS}{TAIL}", 8) == []
    assert stack_at_fault(f"{HEAD}{OURS}{TAIL}").place == ""


def test_what_starts_threads_is_no_part_of_their_stacks() -> None:
    started = (
        OURS.partition("_receive\n")[2] + '  File "/venv/holter/client/capture/witness.py", line 158 in with_stack\n'
    )
    assert lines_at_fault(f"{HEAD}{DEAD}{started}", 8) == lines_at_fault(f"{HEAD}{DEAD}", 8)


def test_a_program_that_faults_inside_of_our_functions_is_shown() -> None:
    inside = DEAD.replace("/usr/lib/python3.11/ctypes/__init__.py", "/venv/site-packages/holter/client/run.py")
    assert lines_at_fault(f"{HEAD}{inside}", 8)[1] == 'File "/home/ada/train.py", line 4 in step'


def test_the_line_of_the_users_own_code_is_shown_however_deep_the_library_was() -> None:
    deep = "".join(f'  File "/venv/site-packages/torch/{number}.py", line {number} in f\n' for number in range(20))
    lines = lines_at_fault(f"{HEAD}{DEAD.replace(chr(10), chr(10) + deep, 1)}", 8)
    assert lines[3] == "… 18 more frames"
    assert lines[4:] == ['File "/home/ada/train.py", line 4 in step', 'File "/home/ada/train.py", line 9 in <module>']


def test_a_cell_of_a_notebook_is_called_by_its_number_and_what_ran_it_is_left_out() -> None:
    cell = (
        DEAD.replace("/home/ada/train.py", "In[12]").rstrip()
        + '\n  File "/venv/IPython/shell.py", line 3 in run_code\n'
    )
    assert lines_at_fault(f"{HEAD}{cell}", 8)[1:] == ["In[12], line 4 in step", "In[12], line 9 in <module>"]
    fault = caught(11, code=1, address=0, stack_pointer=0x7FFD_0000_0000)
    told = diagnose(evidence(signalled(11, signals=(fault,), fault_log=f"{HEAD}{cell}")))
    assert told.title.endswith("called from step (In[12], line 4)")


def test_the_verdict_names_the_users_own_line() -> None:
    fault = caught(11, code=1, address=0, stack_pointer=0x7FFD_0000_0000)
    told = diagnose(evidence(signalled(11, signals=(fault,), fault_log=f"{HEAD}{OURS}\n{DEAD}{TAIL}")))
    assert told.title.endswith("called from step (train.py:4)")
    assert "Python was at string_at (__init__.py:519), called from step (train.py:4)" in {
        fact.text for fact in told.evidence
    }
