"""Every place that gives a unit's processes an environment variable, and which of them wins."""
