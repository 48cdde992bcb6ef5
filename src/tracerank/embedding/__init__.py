"""TEXT -> FROZEN VECTORS: embedders in this process, behind a server or without a model; vectors kept on disk.

Equal text always gives an equal vector, and an encoder is known by the vectors of a few texts. Nothing is trained here
and no pool is seen; torch is loaded only by the modules that run a model, when they do.
"""
