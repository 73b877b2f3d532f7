"""What may leave the house of the evidence of a death."""

from holter.catalog.present.impersonal import impersonal
from holter.model.evidence import End, Evidence, Holder, Job, Memory, Said, Sender

EVIDENCE = Evidence(
    subject=End(pid=7, host="gpu-node-07", name="/home/ada/env/bin/python /scratch/ada/train.py"),
    children=(End(pid=8, host="db"),),
    memory=Memory(
        holders=(
            Holder(pid=1, name="bobs-secret-job", rss_bytes=5),
            Holder(pid=7, name="me", rss_bytes=4, is_ours=True),
        )
    ),
    job=Job(scheduler="slurm", by="bob"),
    senders=(Sender(pid=9, user="bob", command="/Users/bob/stop.sh"),),
    said=tuple(Said(at_ns=at, text="[gpu-node-07] ada@gpu-node-07 wrote to the db /root/x") for at in range(300)),
    config={"lr": 0.1, "data": "s3://ours", "model": {"layers": 3, "name": "x", "best": float("nan")}},
    facts={
        "hostname": "gpu-node-07",
        "kernel": "6.8.0-1020-ours",
        "memory_total_bytes": 9,
        "git": {"remote": "git@ours:x"},
        "schedulers": {"slurm": {"job_name": "x"}},
    },
)


def test_people_machines_and_settings_are_left_out() -> None:
    found = impersonal(EVIDENCE)
    assert found.subject == End(pid=7, host="node-1", name="/home/ann/env/bin/python /scratch/ann/train.py")
    assert found.children[0].host == "node-2"
    assert [each.name for each in found.memory.holders or ()] == ["neighbour", "me"]
    assert (found.job, found.senders) == (
        Job(scheduler="slurm", by="ann"),
        (Sender(pid=9, user="ann", command="/home/ann/stop.sh"),),
    )
    assert {line.text for line in found.said} == {"[node-1] ann@node-1 wrote to the db /home/ann/x"}
    assert len(found.said) == 200
    assert found.config == {"lr": 0.1, "model": {"layers": 3}}
    assert found.facts == {"kernel": "6.8.0", "memory_total_bytes": 9, "schedulers": {"slurm": {}}}


def test_secrets_and_names_that_somebody_knows_are_left_out() -> None:
    said = (Said(at_ns=1, text='"quoted" in /data/moonshot: api_key=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH'),)
    found = impersonal(Evidence(subject=End(pid=7), said=said), [("/data/moonshot", "/stage")])
    assert [line.text for line in found.said] == ['"quoted" in /stage: api_key=…']
