"""Learning to select: losses, examples on disk, resumable fitting."""
