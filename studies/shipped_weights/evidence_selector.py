"""The selector that ships: ``python -m studies.shipped_weights.evidence_selector CACHE FOLDER`` writes selector.json.

Fitted on the tables of ``studies.quality.ground`` that have evidence: real rollouts outside the test split, labelled by
meaning as they were judged by reading, and a generated world with its truth. The same file comes out each time on one
machine; other linear algebra may change the last digits.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from studies.quality.ground import EVIDENT, ground
from tracerank.evidence.fit import fit_model
from tracerank.evidence.selector import EvidenceSelector


def main(arguments: Sequence[str]) -> None:
    cache, out = Path(arguments[0]), Path(arguments[1])
    tables = [cut.table for cuts in ground(cache, EVIDENT).values() for cut in cuts if cut.has_answers]
    questions = len({table.question for table in tables})
    about = {"families": list(EVIDENT), "questions": questions, "tables": len(tables)}
    selector = EvidenceSelector(fit_model(tables), training=about)
    selector.save(out)
    print(f"{out}: {selector.model}")


if __name__ == "__main__":
    main(sys.argv[1:])
