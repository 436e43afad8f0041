#!/usr/bin/env bash
set -u -o pipefail
trap 'kill $(jobs -p) 2>/dev/null; exit 0' TERM INT

declare -x MODEL_DIR="/data/models/llama" TP=2
declare -rx SERVICE_NAME='llama server'
typeset -x TOKENIZERS_PARALLELISM=false
export NCCL_P2P_DISABLE="${NCCL_P2P_DISABLE:-0}" TORCH_CUDA_ARCH_LIST='12.0'; export PYTHONPATH="/opt/patches${PYTHONPATH:+:$PYTHONPATH}"

wait_for_gpu() {
	for _ in $(seq 1 30); do
		nvidia-smi -L > /dev/null && return 0
		sleep 2
	done
	return 1
}
wait_for_gpu || { echo 'no GPU' >&2; exit 3; }

while :; do
	python3 -m sglang.launch_server --model-path "$MODEL_DIR" --tp "$TP"
	code=$?
	echo "server ended with $code, again in 5 s"
	sleep 5
done
