"""One paper, one module, one name: `papers/<slug>` pairs with `audits/<slug>.yaml`."""
