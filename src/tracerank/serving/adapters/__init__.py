"""Selection inside other people's frameworks; each is small, and asks for its library only when it is used."""
