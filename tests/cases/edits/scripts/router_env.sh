#!/bin/sh
# The router, in plain sh. No bashisms here.
PYTHON=${PYTHON:-/opt/venv/bin/python}
RUST_LOG=info; export RUST_LOG
PROMETHEUS_PORT=29000
export PROMETHEUS_PORT
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY

umask 022
test -x "$PYTHON" || exit 127

exec env \
    PYTHONUNBUFFERED=1 \
    SMG_LOG_JSON=0 \
    "TRACE_TAG=router one" \
    "$PYTHON" -m sglang_router.launch_router \
    --pd-disaggregation \
    --prefill http://127.0.0.1:30000 8998 \
    --decode http://127.0.0.1:30002 \
    --host 127.0.0.1 --port 30001
