"""How often methods are right, on real, lexical and generated pools: ``make quality``, and studies of single ideas."""
