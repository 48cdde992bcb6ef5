"""Speed: ``make bench``; CPU time, one thread.

``TRACERANK_BEFORE`` names the ``src`` folder of another checkout: both then take turns in one run.
"""

import torch

from studies.speed.deciding import deciding_lines
from studies.speed.paired import paired_lines


def main() -> None:
    torch.set_num_threads(1)
    for lines in (paired_lines, deciding_lines):
        for line in lines():
            print(line, flush=True)


if __name__ == "__main__":
    main()
