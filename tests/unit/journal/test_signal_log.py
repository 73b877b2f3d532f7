"""What can be made of a signal log, and of anything that looks like one."""

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holter.journal import signal_log
from holter.journal.signal_log import SignalLog, parse_signal_log, read_signal_log
from holter.model.evidence import Caught

FAULT = (
    b"SIG 11\tcode 1\tat 1794742322343329946\tpid 42\ttid 43\tfrom 0\tuid 0\taddr ffffffffffffffff\tsp 7ffd\tip 7f4f"
    b"\tthen handler\tmap 7f00-8000 rw-s 00000000 fe:00 2695762 /tmp/my file"
    b"\tabove 8000-9000 r--p\tin 7000-7fff r-xp lib.so\n"
)
SENT = (
    b"SIG 15\tcode 0\tat 5\tpid 42\ttid 42\tfrom 7\tuid 1000\taddr 0\tsp 1\tip 2"
    b"\tthen default\tsender bash: kill \xff\xfe\n"
)


def test_a_fault_has_addresses_and_mappings() -> None:
    assert parse_signal_log(FAULT).caught == (
        Caught(
            at_ns=1794742322343329946,
            pid=42,
            thread=43,
            signal=11,
            code=1,
            address=(1 << 64) - 1,
            stack_pointer=0x7FFD,
            instruction_pointer=0x7F4F,
            mapping="7f00-8000 rw-s 00000000 fe:00 2695762 /tmp/my file",
            mapping_above="8000-9000 r--p",
            instruction_mapping="7000-7fff r-xp lib.so",
            is_handled=True,
        ),
    )


def test_a_sent_signal_has_a_sender_in_whatever_encoding() -> None:
    (seen,) = parse_signal_log(SENT).caught
    assert (seen.signal, seen.code, seen.sender_pid, seen.sender_uid, seen.is_sent) == (15, 0, 7, 1000, True)
    assert seen.sender == "bash: kill \ufffd\ufffd"
    assert not seen.is_handled


def test_a_sender_s_secrets_are_not_told() -> None:
    line = SENT.replace(b"kill \xff\xfe", b"python --api-key hunter2hunter2 --token=abcabcabc train.py")
    (seen,) = parse_signal_log(line).caught
    assert "hunter2" not in seen.sender
    assert "abcabc" not in seen.sender
    assert seen.sender.endswith("train.py")


def test_processes_with_a_witness_are_known_by_their_pids() -> None:
    assert parse_signal_log(b"WITNESS 7\tat 1\nWITNESS 8\tat 2\nWITNESS x\nWITNESS\n").witnessed == {7, 8}


def test_a_torn_line_and_garbage_are_left_out() -> None:
    parsed = parse_signal_log(
        b"\0\0\n" + FAULT[:60] + b"\n" + b"SIG 99" + SENT[6:] + b"SIG\nhello\n\n" + SENT + FAULT[:-1]
    )
    assert [each.signal for each in parsed.caught] == [15]


@given(st.binary(max_size=2000))
def test_nothing_raises(data: bytes) -> None:
    parse_signal_log(data)


@given(st.lists(st.sampled_from([FAULT, SENT, b"WITNESS 9\tat 3\n"])), st.data())
def test_whole_lines_survive_whatever_tears_the_last_one(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(lines)
    end = data.draw(st.integers(0, len(whole)))
    kept = whole[:end].count(b"\nSIG") + whole[:end].startswith(b"SIG")
    parsed = parse_signal_log(whole[:end])
    assert kept - 1 <= len(parsed.caught) <= kept
    for caught in parsed.caught:
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(caught), type=Caught) == caught


@given(
    st.lists(
        st.tuples(
            st.sampled_from("SIG code at pid tid from uid addr sp ip then sender map".split()), st.text(max_size=30)
        )
    )
)
def test_forged_fields_make_no_trouble(fields: list[tuple[str, str]]) -> None:
    line = "\t".join(f"{name} {value}" for name, value in fields)
    for caught in parse_signal_log(f"{line}\n".encode(errors="replace")).caught:
        msgspec.msgpack.encode(caught)


def test_all_logs_of_a_run_are_read(tmp_path: Path) -> None:
    (tmp_path / "signals.log").write_bytes(b"WITNESS 1\tat 1\n" + SENT)
    (tmp_path / "signals-3.log").write_bytes(b"WITNESS 2\tat 1\n" + FAULT)
    (tmp_path / "signals-x.log").write_bytes(b"WITNESS 3\tat 1\n")
    found = read_signal_log(str(tmp_path))
    assert found.witnessed == {1, 2}
    assert sorted(each.signal for each in found.caught) == [11, 15]


def test_no_log_and_no_directory_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "signals.log").mkdir()
    assert read_signal_log(str(tmp_path)) == read_signal_log(str(tmp_path / "gone")) == SignalLog()


def test_a_log_that_somebody_filled_is_read_at_both_ends(tmp_path: Path) -> None:
    filler = b"x" * 99 + b"\n"
    lines = filler * (signal_log.MOST_BYTES // 100)
    (tmp_path / "signals.log").write_bytes(b"WITNESS 1\tat 1\n" + lines + SENT)
    found = read_signal_log(str(tmp_path))
    assert len(found.caught) == 1
