#!/bin/bash
# prefill

export CUDA_VISIBLE_DEVICES=0,1,2,3 CUDA_HOME=/usr/local/cuda-12.9 \
       PATH="/usr/local/cuda-12.9/bin:$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:/usr/local/cuda-12.9/lib64" \
       SGLANG_OPT_USE_TOPK_V2=0 SGLANG_SM120_MMA_FLASHMLA="1" \
       NCCL_DEBUG='WARN' \
       GLOO_SOCKET_IFNAME=$(ip -o route get 192.0.2.1 | awk '{print $5}')

[[ -d $CUDA_HOME ]] || { echo "no CUDA in $CUDA_HOME" >&2; exit 1; }
mkdir -p /var/log/sglang

HOST_IP=$(hostname -I | awk '{print $1}')
cat > /tmp/prefill.banner <<BANNER
prefill on $HOST_IP
export SGLANG_OPT_USE_TOPK_V2=1   is what upstream does
BANNER

SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=600 numactl --cpunodebind=0 --membind=0 \
  python3 -m sglang.launch_server --model-path /data/models/DeepSeek-V4-Flash \
  --disaggregation-mode prefill --disaggregation-ib-device mlx5_0 --tp-size=4 \
  --port=30000 >> /var/log/sglang/prefill.log 2>&1
