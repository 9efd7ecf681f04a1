"""The fast forms of `model`, held against it by tests.

* `recursion`: the same loss from one d×d matrix per prompt: the derivation, in batched PyTorch.
* `vector_code` writes and compiles vector instructions; `tape` writes the code of gradients.
* `gradient_code`: the recursion as vector code, with its gradient; `kernel` sums it over a
  minibatch and makes Adam's steps.
* `prompts`: how a minibatch lies in memory; `sampler` draws one, as `minibatches` says.
* `learners` and `kernel_learner`: training by PyTorch and by the kernel; `choice` picks one.
"""
