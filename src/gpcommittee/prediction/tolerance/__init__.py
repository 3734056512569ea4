"""Additive rules over all experts to a tolerance: near experts evaluated, far ones compressed, the farthest left out.

``compression`` makes a few rows of an expert stand for all, ``by_distance`` tabulates how far that is off, and
``compressing`` does both for a committee, once: its ``far_field``. Test points that are ``looking`` at it ask what
errors may change (``certainty``), and what they get is a ``sight``: the sum of far experts, and the near ones still to
be evaluated. ``chosen`` takes all test points through these.
"""
