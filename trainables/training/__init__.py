"""Code that all methods share: options, optimiser, learner, encoder, device."""
