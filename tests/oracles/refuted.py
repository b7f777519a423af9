"""What a broken mechanism says of itself: which check refutes it."""

#: Mutant, kind of check, words of a check that refutes it, and its runs a side.
REFUTED = []


def refuted_by(what, words, samples=1800):
    """A check of this kind, whose words these are among, refutes the class below."""

    def said(mutant):
        REFUTED.append((mutant, what, words, samples))
        return mutant

    return said
