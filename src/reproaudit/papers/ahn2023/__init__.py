"""Ahn et al. (2023): linear transformers learn preconditioned gradient descent in context."""
