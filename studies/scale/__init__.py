"""How engines carry growing numbers of pools: pools a second, peak memory, one worker against two.

Generates Parquet files of the world's pools, cut by question, and runs ``tracerank select`` over them. Not imported by
the package.
"""
