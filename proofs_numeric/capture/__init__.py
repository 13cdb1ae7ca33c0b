"""Algorithmic Capture (Davidovich and Ringel, 2026)."""
