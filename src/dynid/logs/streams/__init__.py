"""Samples that arrive one by one: datagrams, lines of a file that grows, logs at their own speed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
