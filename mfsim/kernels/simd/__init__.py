"""Machine vectors of integers, written as LLVM vector instructions."""
