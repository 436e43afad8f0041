"""Asking whether what runs is what should run: configuration, then waiting for it, then load."""
