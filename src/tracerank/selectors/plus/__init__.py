"""TRACE's ``plus`` preset, which is ours and not the paper's: a net that starts as the vote and learns corrections.

Facts, inputs, net, training, checkpoint and the selector. It reads TRACE's graphs and the features and changes neither;
the net sees rollouts through a graph and facts, never a pool.
"""
