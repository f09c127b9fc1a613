"""options, optimiser, learner, encoder, device: what all methods share"""
