"""Running metrics over cases: locally or, with the extra `ray`, on a cluster."""
