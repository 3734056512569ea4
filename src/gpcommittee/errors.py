"""One family of errors and one of warnings; nothing else in the package raises on user input."""


class GPCommitteeError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInputError(GPCommitteeError, ValueError):
    """Data that cannot be used: wrong shape, wrong type, missing or infinite values."""


class InvalidTypeError(GPCommitteeError, TypeError):
    """Data of a type that cannot be numbers: objects that are none, sparse matrices."""


class InvalidParameterError(GPCommitteeError, ValueError):
    """A setting outside what is allowed."""


class NotPositiveDefiniteError(GPCommitteeError, ArithmeticError):
    """A covariance matrix that no allowed jitter makes positive definite."""


class MemoryBudgetError(GPCommitteeError, MemoryError):
    """Work that does not fit the memory budget; the message has the estimate."""


class ModelFileError(GPCommitteeError, ValueError):
    """A model file that is corrupted, of an unknown version, or not a model file."""


class CheckpointError(GPCommitteeError, ValueError):
    """A checkpoint that belongs to another fit or cannot be read."""


class OutputError(GPCommitteeError, OSError):
    """A file of predictions that could not be written; one that was there before is unchanged."""


class DatasetNotFoundError(GPCommitteeError, FileNotFoundError):
    """A data set that is not at hand; the message says how to get it."""


class MissingDependencyError(GPCommitteeError, ImportError):
    """An optional dependency that is not installed; the message has the install command."""


class WorkerError(GPCommitteeError, RuntimeError):
    """Work on a cluster that failed for good: its workers died or could not do it, however often it was tried."""


class GPCommitteeWarning(UserWarning):
    """Base of every warning this package emits."""


class BoundWarning(GPCommitteeWarning):
    """A hyperparameter ended on a bound of its search interval."""


class ConvergenceWarning(GPCommitteeWarning):
    """Training stopped before it converged."""


class JitterWarning(GPCommitteeWarning):
    """A covariance matrix needed jitter on its diagonal to be factored."""


class PrecisionWarning(GPCommitteeWarning):
    """Experts that float32 cannot factor were computed in float64."""
