"""How often methods are right, on real and generated pools: ``make quality``, and studies of single ideas."""
