"""Known answers: the RFCs' vectors, Shamir's scheme by hand, exact tails, uniform residues."""

import math
from itertools import combinations, pairwise, product

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from hushbandits.secure import primitives
from hushbandits.secure.arithmetic import PRIME, expand, recover, secret_shares, split, total
from hushbandits.secure.graph import neighbourhood, neighbourhoods
from hushbandits.secure.messages import Abort, Fault, parse_vector, vector

H = bytes.fromhex


def test_x25519_is_rfc_7748_section_6_1():
    alice = primitives.private(H("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
    bob = primitives.private(H("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    assert primitives.public(alice) == H("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    assert primitives.public(bob) == H("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    shared = H("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    assert primitives.agree(alice, primitives.public(bob), "") == shared
    assert primitives.agree(bob, primitives.public(alice), "") == shared
    for none in (bytes(32), bytes(31)):  # of low order, and no key
        with pytest.raises(Abort, match="of alice") as caught:
            primitives.agree(alice, none, "of alice")
        assert caught.value.fault is Fault.KEY


def test_hkdf_is_rfc_5869_test_case_3():
    okm = H("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
    assert primitives.derive(b"\x0b" * 22, b"") == okm
    assert primitives.derive(b"\x0b" * 22, b"another purpose") != okm


def test_chacha20_is_rfc_8439_appendix_a_1():
    block = H("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
              "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586")  # fmt: skip
    assert primitives.keystream(bytes(32), 64) == block
    assert primitives.keystream(bytes(32), 64, nonce=1) != block


def test_chacha20_poly1305_is_rfc_8439_section_2_8_2():
    key, names = bytes(range(0x80, 0xA0)), H("50515253c0c1c2c3c4c5c6c7")
    nonce = int.from_bytes(H("070000004041424344454647"), "little")
    text = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            b"sunscreen would be it.")  # fmt: skip
    box = primitives.seal(key, nonce, text, names)
    assert box.startswith(H("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"))
    assert box.endswith(H("1ae10b594f09e26a7e902ecbd0600691"))
    assert len(box) == len(text) + primitives.BOX
    assert primitives.unseal(key, nonce, box, names, "") == text
    wrong = bytes([box[0] ^ 1]) + box[1:]
    for other in ((key, nonce, wrong, names), (key, nonce + 1, box, names), (key, nonce, box, b""),
                  (bytes(32), nonce, box, names), (key, nonce, box[:-1], names)):  # fmt: skip
        with pytest.raises(Abort, match="wrong") as caught:
            primitives.unseal(*other, "wrong")
        assert caught.value.fault is Fault.BOX


def test_ed25519_is_rfc_8032_section_7_1():
    secret = H("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    key = H("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    signature = H("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25"
                  "bf5f0595bbe24655141438e7a100b")  # fmt: skip
    assert primitives.public(primitives.signing(secret)) == key
    assert primitives.signing(secret).sign(b"") == signature
    assert primitives.verify(key, signature, b"")
    assert not primitives.verify(key, signature, b"x")
    assert not primitives.verify(key, b"", b"")


def test_a_simulation_draws_what_no_other_party_and_no_other_seed_draws():
    drawn = [primitives.source(seed, name)(32) for seed in (1, 2) for name in (0, 1, "session")]
    again = primitives.source(1, 0)
    assert again(32) == drawn[0]
    assert again(32) != drawn[0]
    assert len(set(drawn)) == 6
    assert primitives.source(None, 0)(32) != primitives.source(None, 0)(32)


# -- Shamir -----------------------------------------------------------------------------------------------------


def test_shamir_by_hand():
    """1234 + 166 x + 94 x² modulo 1613: any three of six points give 1234."""
    coefficients = b"".join(c.to_bytes(48, "big") for c in (94, 166))
    shares = split((1234).to_bytes(32, "big"), 3, 6, lambda size: coefficients[:size], 1613)
    assert shares == [(1234 + 166 * x + 94 * x * x) % 1613 for x in range(1, 7)] == [1494, 329, 965, 176, 1188, 775]
    for points in combinations(range(1, 7), 3):
        assert int.from_bytes(recover({x: shares[x - 1] for x in points}, 1613), "big") == 1234


def test_the_field_is_prime_and_holds_every_secret():
    """Miller and Rabin, 40 bases: a composite passes with probability below 4⁻⁴⁰."""
    odd, twos = PRIME - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in range(2, 42):
        x = pow(base, odd, PRIME)
        assert x in (1, PRIME - 1) or any(pow(x, 1 << i, PRIME) == PRIME - 1 for i in range(1, twos))
    assert PRIME > 1 << 256
    for secret in (bytes(32), b"\xff" * 32):
        shares = split(secret, 3, 5, primitives.source(1, 0))
        assert recover({2: shares[1], 4: shares[3], 5: shares[4]}) == secret


def test_fewer_shares_than_the_threshold_say_nothing():
    """Modulo 7, over all polynomials, two of four shares take all 49 pairs once, for every secret."""
    for secret in range(7):
        drawn = [
            split(secret.to_bytes(32, "big"), 3, 4, lambda _, c=c: b"".join(x.to_bytes(48, "big") for x in c), 7)
            for c in product(range(7), repeat=2)
        ]
        for i, j in combinations(range(4), 2):
            assert len({(shares[i], shares[j]) for shares in drawn}) == 49


def test_a_false_share_gives_another_secret_or_none():
    secret = b"\x01" * 32
    shares = dict(enumerate(split(secret, 3, 5, primitives.source(1, 0)), 1))
    assert recover({1: shares[1], 2: shares[2], 3: (shares[3] + 1) % PRIME}) != secret
    assert recover({1: 1 << 256}) is None


def test_shares_for_a_thousand_neighbours():
    shares = split(b"\x07" * 32, 667, 999, primitives.source(2, 0))
    assert recover(dict(list(enumerate(shares, 1))[-667:])) == b"\x07" * 32


# -- residues ---------------------------------------------------------------------------------------------------


def evenness(drawn, m):
    """The p-value of the chi-square test of residues in up to 1,000 bins of nearly one width."""
    bins = min(m, 1000)
    edges = [(i * m + bins - 1) // bins for i in range(bins + 1)]
    counts = np.histogram(drawn, np.array(edges, np.uint64) if m > 2**53 else edges)[0]
    widths = np.array([(b - a) / m for a, b in pairwise(edges)])
    return stats.chisquare(counts, widths * counts.sum()).pvalue


#: A modulus for which `word % m` is far from uniform: 2⁶⁴ is 4.5 times as large.
ODD = (1 << 65) // 9


@pytest.mark.parametrize("m", [3, 1000, 2**32 + 15, 2**62, ODD])
def test_residues_are_uniform(m):
    drawn = expand([primitives.derive(bytes([i]), b"test") for i in range(100)], 2000, m)
    assert drawn.shape == (100, 2000)
    assert int(drawn.max()) < m
    assert evenness(drawn.ravel(), m) > 1e-4


def test_words_modulo_m_are_found_not_to_be():
    """The flaw that rejection avoids."""
    words = np.frombuffer(primitives.keystream(bytes(32), 8 * 200_000), "<u8")
    assert evenness(words % np.uint64(ODD), ODD) < 1e-12


def test_a_row_depends_on_its_key_alone_and_begins_the_same_at_any_length():
    keys = [primitives.derive(bytes([i]), b"row") for i in range(40)]
    long = expand(keys, 300, ODD)
    assert (expand(keys[7:8], 300, ODD) == long[7]).all()
    assert (expand(keys, 20, ODD) == long[:, :20]).all()  # short rows need a second block more often
    for key, row in zip(keys, long, strict=True):
        words = np.frombuffer(primitives.keystream(key, 8 * 1000), "<u8").tolist()
        slow = [w % ODD for w in words if w < (1 << 64) // ODD * ODD]
        assert slow[:300] == row.tolist()


@pytest.mark.parametrize("m", [2, 3, 2**31, 2**62 - 57, 2**62])
def test_totals_do_not_overflow(m):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, m, size=(1000, 3), dtype=np.uint64)
    rows[:, 0] = m - 1
    assert total(rows, m).tolist() == [sum(column) % m for column in rows.T.tolist()]


@pytest.mark.parametrize("m", [2, 7, 2**62])
def test_secret_shares_sum_to_their_numbers_and_are_new_each_time(m):
    x = np.arange(50) % m
    shares = secret_shares(x, 4, m).reshape(50, 4)
    assert [sum(row) % m for row in shares.tolist()] == x.tolist()
    assert shares.min() >= 0
    assert shares.max() < m
    assert (secret_shares(x, 4, m).reshape(50, 4) != shares).any()


def test_residues_on_their_way_by_hand():
    """1, 2, 3 modulo 5 are 001 010 011, and seven zeros to the next byte."""
    assert vector(np.array([1, 2, 3]), 5) == H("2980")
    assert vector(np.array([2**62 - 1, 1]), 2**62) == H("fffffffffffffffc0000000000000010")
    rng = np.random.default_rng(1)
    for m in (2, 3, 256, 257, 2**26, 2**62 - 57, 2**62):
        x = rng.integers(0, m, size=11, dtype=np.uint64)
        assert len(vector(x, m)) == math.ceil(11 * math.ceil(math.log2(m)) / 8)
        assert parse_vector(vector(x, m), 11, m).tolist() == x.tolist()


# -- graphs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 30])
def test_graphs_are_regular_and_their_own_mirror(n):
    names = [3 * i + 1 for i in range(n)]
    for k in range(1, n):
        graph = neighbourhoods(names, k, bytes([k]) * 32)
        size = min(k + k % 2, n - 1)
        for u, its in graph.items():
            assert its == sorted(set(its))
            assert len(its) == size
            assert u not in its
            assert all(u in graph[v] for v in its)
        assert nx.is_connected(nx.from_dict_of_lists(graph))
    assert set(graph) == set(names)


def test_the_seed_decides_the_graph():
    first = neighbourhoods(range(50), 4, bytes(32))
    assert first == neighbourhoods(range(50), 4, bytes(32))
    assert first != neighbourhoods(range(50), 4, b"\x01" + bytes(31))


@pytest.mark.parametrize(("corrupt", "dropout"), [(0.05, 0.05), (0.05, 0.1), (0.1, 0.1), (0.3, 0.1)])
@pytest.mark.parametrize("n", [21, 100, 1000, 10_000, 100_000])
def test_neighbourhoods_are_safe_and_no_smaller_one_is(n, corrupt, dropout):
    """Against SciPy's hypergeometric tails, which are floats, and another way to count."""

    def risk(k, t):
        taken, gone = math.ceil(corrupt * n), math.ceil(dropout * n)
        bad = stats.hypergeom(n - 1, taken, k).sf(t - 1)  # t or more
        lost = stats.hypergeom(n - 1, gone, k).sf(k - t)  # fewer than t are left
        gap = stats.hypergeom(n, taken + gone, k // 2).pmf(k // 2)
        return n * (bad + lost + gap)

    k, t = neighbourhood(n, corrupt, dropout)
    if k == n - 1:
        assert t == math.ceil(corrupt * n) + 1
    else:
        assert risk(k, t) <= 2.0**-40 * (1 + 1e-6)
    assert all(risk(k - 2, other) > 2.0**-40 for other in range(1, k - 1))
