"""What a broken mechanism says of itself: which check refutes it."""

#: Mutant, kind of check, words of a check that refutes it, its runs a side, and those of a drawn law.
REFUTED = []


def refuted_by(what, words, samples=1800, runs=10):
    """A check of this kind, whose words these are among, refutes the class below."""

    def said(mutant):
        REFUTED.append((mutant, what, words, samples, runs))
        return mutant

    return said
