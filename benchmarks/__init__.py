"""Figures, measured side by side with the peers in one run: `python -m benchmarks [NAME …]`."""

from medassay.cores import one_thread_for_blas

# As the command line does: what is measured in this process is what a user of the command waits for.
one_thread_for_blas()
