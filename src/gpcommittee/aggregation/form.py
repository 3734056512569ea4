"""Rules that go over augmented experts or over base experts, as they are told."""

from __future__ import annotations

from dataclasses import dataclass

from gpcommittee.aggregation.rule import AdditiveRule, Experts, Reference


@dataclass(frozen=True)
class EitherForm(AdditiveRule):
    """A rule over experts in the form that ``augmented`` says.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances.
    augmented : bool, default=True
        Experts that also know the communication rows, or experts that know their own rows only.
    """

    augmented: bool = True

    @property
    def experts(self) -> Experts:
        return Experts.AUGMENTED if self.augmented else Experts.BASE

    @property
    def reference(self) -> Reference:
        return Reference.COMMUNICATION if self.augmented else Reference.NONE
