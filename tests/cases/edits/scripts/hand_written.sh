#!/bin/bash
# Aufgesetzt von Jörg – bitte nicht ohne Rücksprache ändern.  ｜DSML｜
	# eingerückt mit Tabs

	export LANG=C.UTF-8		LC_ALL=C.UTF-8
	export GREETING='Grüße, "Welt"'   BANNER="multi
line
value" SGLANG_LOG_LEVEL=info
	: <<'NOTE'
export SGLANG_LOG_LEVEL=debug   # no longer
NOTE
	export	EXTRA=a\ b\;c	# tabs	everywhere
	SGLANG_TEST_RETRACT=1 ; export SGLANG_TEST_RETRACT ;
	cd /srv/app && nohup setsid python3 -u serve.py --name "größe" --port 8000 < /dev/null > serve.log 2>&1