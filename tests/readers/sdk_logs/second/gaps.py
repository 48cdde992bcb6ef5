"""Layouts of the second scenario that are not read fully, with what becomes of them and why."""

GAPS: dict[str, str] = {
    "llama_index/context": "refused",  # it keeps the question and counts, neither calls nor words of the agent
}
