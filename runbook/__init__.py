"""Deploy and verify LLM serving on GPU hosts as one audited rollout."""

__version__ = "0.1.0"
