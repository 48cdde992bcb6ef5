"""Selection inside other people's frameworks; each adapter is small, and asks for its library only when it is used.

What all of them share stands with the one that needs no library, `langgraph_node.py`. Only `harbor_job.py` reads
files, those of a job that has ended.
"""
