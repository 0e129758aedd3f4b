"""geekbench: run where the user has installed it, without uploading anything unless told to."""
