"""The stages a rollout is made of: each does one thing on the host and tells it as one step."""
