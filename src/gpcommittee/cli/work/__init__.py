"""What the commands do; loaded only when a command runs, for it takes PyTorch along."""
