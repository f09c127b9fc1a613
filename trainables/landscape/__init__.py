"""Linear interpolation between trained models: why seeds disagree (Wu et al., under-specified optimization)."""
