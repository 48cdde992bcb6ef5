"""The almanac's questions, put to the lexical agent with real BM25 over its documents; nothing is scripted.

The rule, also for whoever adds questions: a question is fixed before a selector decides on it. How hard the questions
are was set by two figures alone, how often a single rollout is right and how often any of eight is; the agent is the
one of the three presets for which the second is highest. No question was chosen, changed or dropped for who wins it,
and nothing may be fitted here.
"""

from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

from tracerank.agents.corpus.build import build_corpus
from tracerank.agents.corpus.index import Corpus
from tracerank.agents.lexical.policy import LexicalPolicy
from tracerank.agents.lexical.presets import SFT
from tracerank.agents.questions import read_questions
from tracerank.pools.files import whole_file
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question

DOCUMENTS, QUESTIONS = "documents.jsonl", "questions.jsonl"
INDEX = "index"
AGENT = SFT
"""Of base, sft and rl, a single rollout is right on 27.2, 35.2 and 40.1% of the questions, any of eight on 67.5, 68.1 and
53.1%."""
K = 8
"""Rollouts a question."""
SEED = 0


class Almanac:
    """The almanac in a folder of the user's, where it can be looked up, and an index of it."""

    def __init__(self, folder: Path) -> None:
        """Write documents, questions and index; what an earlier one left is replaced."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in (DOCUMENTS, QUESTIONS):
            with whole_file(folder / name) as file:
                file.write(resources.files(__package__).joinpath(name).read_bytes())
        self.documents = build_corpus([folder / DOCUMENTS], folder / INDEX, force=True).documents
        self.questions: tuple[Question, ...] = tuple(read_questions([folder / QUESTIONS]))

    @property
    def agent(self) -> str:
        """As ``tracerank rollout --policy`` takes it."""
        return f"lexical:{AGENT.name}"

    def pools(self, on_pool: Callable[[], None] = lambda: None) -> Iterator[Pool]:
        """K rollouts of every question, in order; the same ones whenever they are made."""
        policy = LexicalPolicy(Corpus(self.folder / INDEX), AGENT)
        for pool in policy.pools(self.questions, K, SEED):
            on_pool()
            yield pool

    def command(self, output: Path) -> str:
        """What makes the same rollouts again, from the shell."""
        files = f"{self.folder / QUESTIONS} --corpus {self.folder / INDEX}"
        return f"tracerank rollout {files} --policy {self.agent} -k {K} --seed {SEED} -o {output}"
