"""``python -m tracerank`` is the command ``tracerank``."""

from tracerank.cli import main

if __name__ == "__main__":
    main()
