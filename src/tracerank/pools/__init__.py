"""WHAT THE AGENTS DID: questions, rollouts, searches, evidence and documents as frozen values, and pools of them.

Also what follows from a pool alone: what may be chosen, which documents it shares, how right its answers are, splits,
and its own file format. No other format is read here, nothing is decided, and neither numpy nor torch is needed.
"""
