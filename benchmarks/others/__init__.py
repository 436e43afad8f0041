"""The same deploy as runbook's, written for other tools as an able user of each would, and run as whole processes."""
