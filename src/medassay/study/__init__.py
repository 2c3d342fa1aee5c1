"""What scores say about systems and metrics: summaries, intervals, significance, correlation."""
