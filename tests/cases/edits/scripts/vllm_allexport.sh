#!/bin/bash -e
# vLLM on the test box

set -a
VLLM_USE_V1=1
VLLM_LOGGING_LEVEL="INFO"
HF_HOME=/data/hf
OMP_NUM_THREADS=8
[ -f /etc/default/vllm ] && . /etc/default/vllm
set +a

log() {
    local level=$1; shift
    printf '%(%F %T)T [%s] %s\n' -1 "$level" "$*"
}

ARGS=(
    --model "Qwen/Qwen3-32B"   # K=0 in a comment
    --max-model-len 32768
    --gpu-memory-utilization 0.92
)
if [[ "${VLLM_EAGER:-0}" == 1 ]]; then
    ARGS+=(--enforce-eager)
fi

log info "starting vllm with ${ARGS[*]}"
exec python3 -m vllm.entrypoints.openai.api_server "${ARGS[@]}" "$@"
