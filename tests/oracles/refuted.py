"""Decorator of broken mechanisms: the check that refutes each."""

#: Mutant, kind of check, words of a check that refutes it, its runs per input, and those of a drawn law.
REFUTED = []


def refuted_by(what, words, samples=1800, runs=10):
    """Register the class below as refuted by a check of this kind with these words."""

    def said(mutant):
        REFUTED.append((mutant, what, words, samples, runs))
        return mutant

    return said
