"""The committee and other large-scale GPs: same rows, same split, same single thread, each in a process of its own."""
