"""Peak memory while scoring 256 pools, each side in a process of its own (``-m studies.speed.memory SETTING SIDE``)."""

import subprocess
import sys
from pathlib import Path

COUNT = 256


def peak_megabytes(setting: str, side: str) -> float:
    """Peak resident memory of a fresh process while it builds and scores a batch on one side."""
    command = [sys.executable, "-W", "ignore", "-m", "studies.speed.memory", setting, side]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    import torch

    from studies.speed.sides import Bench

    torch.set_num_threads(1)
    setting, side = sys.argv[1:]
    bench = Bench.of(setting, COUNT)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the preparation
    if side == "twin":
        bench.score_twin(bench.build_twin())
    else:
        bench.score_ours(bench.build_ours())
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    sys.stdout.write(f"{int(peak.split()[1]) / 1024}\n")


if __name__ == "__main__":
    main()
