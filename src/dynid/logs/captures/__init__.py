"""Motion capture and force plates: files of markers to a log of a body with a floating base."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
