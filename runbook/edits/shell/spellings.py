"""Spellings: which names are one option to the engines, and which may be short for a longer one to argparse."""

from __future__ import annotations

# The longer names and their aliases in SGLang 0.5.23 (srt/arg_groups/fields) and vLLM 0.9 (engine/arg_utils.py), and
# --tp, --pp and --dp, which argparse took for SGLang's. The first of each stands for all.
_SAME = (
    ("--attention-context-parallel-size", "--attn-cp-size"),
    ("--attention-data-parallel-size", "--attn-dp-size"),
    ("--data-parallel-address", "-dpa"),
    ("--data-parallel-rpc-port", "-dpp"),
    ("--data-parallel-size", "--dp-size", "--dp", "-dp"),
    ("--data-parallel-size-local", "-dpl"),
    ("--decode-context-parallel-size", "--dcp-size", "-dcp"),
    ("--dist-init-addr", "--nccl-init-addr"),
    ("--enable-hierarchical-cache", "--enable-hicache"),
    ("--expert-parallel-size", "--ep-size", "--ep"),
    ("--hisparse-config", "--hierarchical-sparse-attention-extra-config"),
    ("--model", "--model-path"),
    ("--moe-data-parallel-size", "--moe-dp-size"),
    ("--pipeline-parallel-size", "--pp-size", "--pp", "-pp"),
    ("--quantization", "-q"),
    ("--speculative-draft-model", "--speculative-draft-model-path"),
    ("--tensor-parallel-size", "--tp-size", "--tp", "-tp"),
)
_FIRST = {name: names[0] for names in _SAME for name in names}
_ALL = {names[0]: names for names in _SAME}
# Options that are whole, though others of SGLang, its router or vLLM begin with them
_WHOLE_NAMES = """
    --chat-template --config --cpu-offload --data-parallel-size --decode --disable-cuda-graph --dllm-algorithm
    --enable-dp-attention --enable-linear-replayssm --enable-lora --enable-metrics --enable-torch-compile --ep
    --export-metrics-to-file --hicache-storage-backend --kv-cache-dtype --kv-canary --log-level --log-requests --model
    --prefill --prefill-decode-interval --quantization --radix-eviction-policy --service-discovery --sidecar
    --speculative-adaptive --speculative-draft-model --ssl-keyfile --tokenizer
"""
_WHOLE = frozenset(_WHOLE_NAMES.split())


def option(name: str) -> str:
    """The one name of an option, however it is spelled; vLLM also takes underscores for its dashes."""
    dashed = name.replace("_", "-") if name.startswith("--") else name
    return _FIRST.get(dashed, dashed)


def may_shorten(written: str, name: str) -> bool:
    """Whether argparse may take one option for the beginning of another, longer one."""
    short, whole = option(written), option(name)
    if short == whole or short in _WHOLE or not short.startswith("--"):
        return False
    return any(each.startswith(short) and each[len(short)] != "." for each in _ALL.get(whole, (whole,)))
