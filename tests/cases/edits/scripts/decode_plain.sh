#!/usr/bin/env bash
# DeepSeek-V4-Flash, decode side of the pair. Started by sglang-dsv4-decode.service.
set -euo pipefail

VENV=/root/venvs/sglang-0.5.23
MODEL=/data/models/DeepSeek-V4-Flash

# --- SM120 kernels (private fork)
export SGLANG_SM120_MMA_FLASHMLA=1
export SGLANG_SM120_TRITON_INDEXER=1
export SGLANG_DSV4_BF16_INDEX_K=1

# corruption hunt: try without top-k v2
export SGLANG_OPT_USE_TOPK_V2=0
export SGLANG_OPT_USE_MULTI_STREAM_OVERLAP=1   # capture only

ulimit -n 1048576
cd /root

exec "$VENV/bin/python" -m sglang.launch_server \
  --model-path "$MODEL" \
  --served-model-name deepseek-v4-flash \
  --disaggregation-mode decode \
  --tp 4 --cuda-graph-max-bs 128 \
  --mem-fraction-static 0.86 \
  --tool-call-parser deepseekv4 --reasoning-parser deepseek-v4 \
  --host 0.0.0.0 --port 30002
