"""The queue: runs waiting for their machines; runs on different machines go side by side."""
