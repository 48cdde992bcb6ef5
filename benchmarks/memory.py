"""Peak memory while scoring 256 pools, each side in a process of its own: ``python -m benchmarks.memory SETTING SIDE``."""

import resource
import subprocess
import sys

COUNT = 256


def peak_megabytes(setting: str, side: str) -> float:
    """Peak resident memory of a fresh process that builds and scores a batch on one side."""
    command = [sys.executable, "-m", "benchmarks.memory", setting, side]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    import torch

    from benchmarks.sides import Bench

    torch.set_num_threads(1)
    setting, side = sys.argv[1:]
    bench = Bench.of(setting, COUNT)
    if side == "twin":
        bench.score_twin(bench.build_twin())
    elif side == "ours":
        bench.score_ours(bench.build_ours())
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}\n")


if __name__ == "__main__":
    main()
