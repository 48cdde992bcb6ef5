"""A real small model behind a real llama.cpp server as the judge: weak verdicts, true protocol."""

from pathlib import Path

from tests.builders import referenced
from tests.llama import llama_server
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.evaluation.judging import AnswerJudge, JudgeConfig
from tracerank.evaluation.labels import JUDGE, Labelling


def test_a_real_model_judges_or_says_that_it_cannot_and_is_never_asked_twice(tmp_path: Path) -> None:
    asked = referenced(("Paris",), "Paris", "It is Rome.", question="What is the capital of France?")
    with (
        llama_server(embeds=False, context=2048) as address,
        HttpChat(ChatConfig(address, "smollm2", retries=0, timeout=600)) as http,
    ):
        chat = CachedChat(http, tmp_path)
        judge = AnswerJudge(chat, JudgeConfig(max_tokens=8))
        labelling = Labelling(JUDGE, judge)
        [known] = labelling.pools([asked])
        assert known.rollouts[0].label == 1.0
        if judge.failed:  # so small a model may say anything
            assert "asked 3 times for the short answer and one of CORRECT" in judge.failed[0]
            assert known.rollouts[1].label is None
            return
        assert known.rollouts[1].label in (0.0, 1.0)
        before = chat.asked
        assert list(labelling.pools([asked])) == [known]
        assert chat.asked == before
