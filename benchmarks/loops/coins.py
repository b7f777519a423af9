"""Byzantine-UCB by hand for Bernoulli rewards: a sample is its number of zeros and of ones, and a few false reports.

It uses the package's random numbers: its regret is identical to the package's, but for ties that rounding decides.
"""

import math

import numba
import numpy as np


@numba.njit
def kept(n, log_inverse_delta, epsilon):
    """Return how many of n points the interval holds (`kept_points` of the package)."""
    ell, alpha = (log_inverse_delta + math.log(4.0)) / n, max(epsilon, log_inverse_delta / n)
    return math.floor(n * (1.0 - 2.0 * alpha - math.sqrt(2.0 * alpha * ell) - ell))


@numba.njit
def insert(sorted_, size, value):
    """Insert a value into the first `size` values of a sorted array."""
    while size > 0 and sorted_[size - 1] > value:
        sorted_[size] = sorted_[size - 1]
        size -= 1
    sorted_[size] = value


@numba.njit
def interval(zeros, odd, n, q):
    """Return the ends of the shortest interval with q of n points: zeros, the sorted values `odd`, then ones.

    Where several are shortest, the one nearest the middle.  Intervals that begin and end alike are met at once.
    """
    ones = zeros + odd.size  # the first one
    i, last, best_low, best_high, length, off = 0, n - q, 0.0, 1.0, math.inf, 0
    while i <= last:
        j = i + q - 1
        low, next_low = (0.0, zeros) if i < zeros else (odd[i - zeros], i + 1) if i < ones else (1.0, n)
        high, next_high = (0.0, zeros) if j < zeros else (odd[j - zeros], j + 1) if j < ones else (1.0, n)
        after = min(next_low, next_high - q + 1, last + 1)
        centre = max(2 * i - last, last - 2 * (after - 1), last % 2)
        if high - low < length or (high - low == length and centre < off):
            best_low, best_high, length, off = low, high, high - low, centre
        i = after
    return best_low, best_high


@numba.njit
def ranked(rank, n, zeros, ones, odd):
    """Return the value with this rank among n: zeros, the sorted values `odd`, and ones."""
    return 0.0 if rank < zeros else 1.0 if rank >= n - ones else odd[rank - zeros]


@numba.njit
def median(n, zeros, ones, odd):
    """Return the median of n values: zeros, the values `odd`, and ones."""
    odd = np.sort(odd) if odd.size > 1 else odd
    if n % 2:
        return ranked(n // 2, n, zeros, ones, odd)
    return 0.5 * (ranked(n // 2 - 1, n, zeros, ones, odd) + ranked(n // 2, n, zeros, ones, odd))


N, LAST, X, Y = 0, 1, 2, 5  # columns of a sample: size, last value, zeros, ones and false reports of the halves X and Y
LIE = 2


@numba.njit
def middle(row, lies):
    """Return the median of a sample."""
    odd = np.concatenate((lies[0, : row[X + LIE]], lies[1, : row[Y + LIE]]))
    return median(row[N], row[X] + row[Y], row[X + 1] + row[Y + 1], odd)


@numba.njit
def trimmed(samples, lies, a, log_inverse_delta, epsilon):
    """Return the trimmed mean of sample a, whose halves X and Y get values in turn; an odd last one is in X."""
    half, ones = samples[a, N] // 2, samples[a, X + 1]
    q = kept(half, log_inverse_delta, epsilon) if half else 0
    if q <= 0:
        if samples[a, X + LIE] or samples[a, Y + LIE]:
            return middle(samples[a], lies[a])
        ones = 2 * (ones + samples[a, Y + 1])
        return 1.0 if ones > samples[a, N] else 0.5 if ones == samples[a, N] else 0.0
    zeros, odd = samples[a, X], samples[a, X + LIE]
    if samples[a, N] & 1:  # the last one waits for its partner
        zeros -= samples[a, LAST] == 0
        ones -= samples[a, LAST] == 1
        odd -= samples[a, LAST] == LIE
    low, high = 0.0, 1.0
    if samples[a, Y + LIE] or (samples[a, Y] >= q and samples[a, Y + 1] >= q):
        low, high = interval(samples[a, Y], lies[a, 1, : samples[a, Y + LIE]], half, q)
    elif samples[a, Y] >= q:
        high = 0.0
    elif samples[a, Y + 1] >= q:
        low = 1.0
    inside, total = 0, 0.0
    if low == 0.0:
        inside = zeros
    if high == 1.0:
        inside, total = inside + ones, float(ones)
    for j in range(odd):
        if low <= lies[a, 0, j] <= high:
            inside, total = inside + 1, total + lies[a, 0, j]
    return total / inside if inside else low + 0.5 * (high - low)


@numba.njit
def take(code, lie, samples, lies, a):
    """Take in a value of sample a: a zero, a one or a false report."""
    half = samples[a, N] & 1
    column = X + 3 * half + code
    if code == LIE:
        if half:  # sorted
            insert(lies[a, 1], samples[a, column], lie)
        else:
            lies[a, 0, samples[a, column]] = lie
    samples[a, N] += 1
    samples[a, LAST] = code
    samples[a, column] += 1


@numba.njit
def byzantine_ucb(means, gaps, uniforms, hits, lies, first, sender, delay, epsilon, sigma, regret):
    """Play one run of Byzantine-UCB with trimmed means."""
    (rounds, agents), n_arms = uniforms.shape, means.size
    bias = sigma * math.sqrt(epsilon)
    samples, held = np.zeros((agents * n_arms, 8), np.int32), np.empty((agents * n_arms, 2, hits.sum() + 1))
    posts = np.zeros((rounds, agents), np.int16)  # 4 times the arm, and the value
    for t in range(1, rounds + 1):
        level = 2.0 * math.log(t)
        for m in range(agents):
            best, highest = t - 1, -math.inf
            if t > n_arms:
                for k in range(n_arms):
                    a = m * n_arms + k
                    index = trimmed(samples, held, a, level, epsilon)
                    index += bias + sigma * math.sqrt(level / samples[a, N])
                    if index > highest:
                        best, highest = k, index
            reward = int(uniforms[t - 1, m] < means[best])
            posts[t - 1, m] = 4 * best + (LIE if hits[t - 1, m] else reward)
            regret[m] += gaps[best]
            take(reward, 0.0, samples, held, m * n_arms + best)
        for m in range(agents):
            for slot in range(first[m], first[m + 1]):  # nearest first
                posted = t - delay[slot]
                if posted < 0:
                    break
                post = posts[posted, sender[slot]]
                lie = lies[posted, sender[slot]] if post & 3 == LIE else 0.0
                take(post & 3, lie, samples, held, m * n_arms + (post >> 2))
