"""Work that survives a kill: atomic files, resumable output and an ordered map over processes.

Knows nothing of pools or methods; every command that writes results uses these.
"""
