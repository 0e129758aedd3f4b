"""Calibration: what the instrument itself adds on a host, and how far figures differ there when nothing differs."""
