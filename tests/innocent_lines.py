"""Lines and values as trainings really print and set them, with no secret in them; many look a little like one."""

import base64
import random
import string
import uuid
from pathlib import Path

_WRITTEN = Path(__file__).with_suffix(".txt").read_text().splitlines()


def _generated() -> list[str]:
    draw = random.Random(4658)

    def of(alphabet: str, count: int) -> str:
        return "".join(draw.choice(alphabet) for _ in range(count))

    def number() -> str:
        return f"{draw.random() * 10 ** draw.randint(-6, 5):.{draw.randint(2, 8)}g}"

    hexes, base36 = string.digits + "abcdef", string.digits + string.ascii_lowercase
    lines = []
    for at in range(24):
        picture = base64.b64encode(draw.randbytes(150 + 13 * at)).decode()
        lines += [
            of(hexes, 40),
            of(hexes, 64),
            f"commit {of(hexes, 40)} (HEAD -> main, origin/main)",
            f"sha256 {of(hexes, 64)}  model-{at:05}-of-00030.safetensors",
            f"image: registry.example.org/team/train@sha256:{of(hexes, 64)}",
            str(uuid.UUID(int=draw.getrandbits(128), version=4)),
            f"run {of(base36, 8)} trace_id={of(hexes, 32)} span_id={of(hexes, 16)}",
            f"step {at * 100} loss {number()} lr {number()} tokens/s {number()} mfu {number()}",
            f"tensor([{', '.join(number() for _ in range(8))}], device='cuda:{at % 8}')",
            f"<img src='data:image/png;base64,{picture}'/>",
            f"/scratch/ada/runs/{of(base36, 8)}/checkpoint-{at * 1000}/optimizer.pt",
            f"https://wandb.ai/ada/mnist/runs/{of(base36, 8)}/workspace?nw=nwuserada",
        ]
    return lines


LINES = _WRITTEN + _generated()

# Of a configuration: names and values as they are set.
VALUES: dict[str, object] = {
    "max_tokens": 4096,
    "max_token": "4096",
    "token_dim": 768,
    "tokenizer": "meta-llama/Llama-3.1-8B",
    "tokenizer_name": "gpt2",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "decoder_start_token": "<s>",
    "additional_special_tokens": ["<image>", "<video>"],
    "maxTokens": 512,
    "stopTokens": ["\n"],
    "tokens_per_batch": 524288,
    "token": None,
    "use_auth_token": True,
    "password": None,
    "api_key": "",
    "secret": False,
    "secret_santa": "yes",
    "key": "val_loss",
    "sort_key": "created_at",
    "monitor_key": "eval/loss",
    "pass": "train",
    "forward_pass": "twice",
    "num_passes": 3,
    "password_file": "/run/secrets/db",
    "api_key_file": "~/.openai",
    "key_dim": 64,
    "keyboard": "de",
    "author": "Ada Lovelace",
    "authors": "Ada, Grace",
    "lr": 3e-4,
    "betas": [0.9, 0.95],
    "model": {"name": "resnet50", "pretrained": True, "sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
    "image": "nvcr.io/nvidia/pytorch:24.10-py3",
    "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "dataset": "s3://bucket/c4/en/0.0.0",
    "url": "https://example.org/data.tar",
    "notes": "first try with the new tokenizer",
    "basic": "configuration",
    "cache_key": "3f2a9c1de45b6a7c8d9e0f1a2b3c4d5e6f708192",
}
