"""The server's view is alike for two inputs with the same sum: bytes, lengths, order."""

import numpy as np
from scipy import stats
from secure_play import play

from hushbandits.secure import arithmetic
from hushbandits.secure.bonawitz import SecureSum
from hushbandits.secure.messages import DIGEST, HEADER, Kind

M = 1 << 32
#: Two inputs with one sum: equal for all users, or all of it from one user.
EVEN, ONE = np.full((4, 8), 250), np.array([[1000] * 8, [0] * 8, [0] * 8, [0] * 8])


def transcript(x, seed):
    """Return all messages that reach the server."""
    seen = []
    server, users = SecureSum(M, insecure_seed=seed).parties(x)
    play(server, users, line=lambda to, data: (seen.append(data) if to is None else None) or [data])
    assert (server.total == 1000).all()
    return seen


def two_samples(sums):
    """Return p-values of byte histograms by kind of message and of masked numbers, and whether formats are equal."""
    ours, theirs = [[transcript(x, first + i) for i in range(sums)] for first, x in ((0, EVEN), (sums, ONE))]
    forms = {tuple((m[3], m[20:24], len(m)) for m in one) for one in (*ours, *theirs)}
    found = []
    for kind in (Kind.KEYS, Kind.SHARES, Kind.MASKED, Kind.UNMASK):
        # without the digest of the request: it is the server's, and equal for all
        begin = HEADER if kind is Kind.KEYS else HEADER + DIGEST
        sent = [b"".join(m[begin:-DIGEST] for one in side for m in one if m[3] == kind) for side in (ours, theirs)]
        counts = [np.bincount(np.frombuffer(text, np.uint8), minlength=256) for text in sent]
        found.append(stats.chi2_contingency(np.array(counts)[:, np.sum(counts, 0) > 0]).pvalue)
    for u in range(4):
        mine = [[m for one in side for m in one if m[3] == Kind.MASKED and m[23] == u] for side in (ours, theirs)]
        masked = [np.frombuffer(b"".join(m[HEADER + DIGEST : -DIGEST] for m in its), ">u4") for its in mine]
        found.append(stats.ks_2samp(*masked).pvalue)
    return forms, min(found) * len(found)


def test_inputs_with_one_sum_look_alike():
    forms, p = two_samples(80)
    assert len(forms) == 1
    assert p > 1e-4


def test_vectors_without_masks_do_not(monkeypatch):
    monkeypatch.setattr(arithmetic, "expand", lambda keys, count, m: np.zeros((len(keys), count), np.uint64))
    assert two_samples(20)[1] < 1e-12
