"""Selection inside other people's frameworks; each adapter is small, and asks for its library only when it is used.

What all of them share stands in `settled.py`. No adapter knows another one, and none reads files.
"""
