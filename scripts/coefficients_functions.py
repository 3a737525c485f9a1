#!/usr/bin/env python3
"""coefficients_functions.py: the polynomials of erfinv and lgamma in src/graph/erfinv.cpp and lgamma.cpp.

Needs mpmath. Each is interpolated where a polynomial of Chebyshev's is 0, which is within a bit of the
best. Prints the coefficients from the highest on, as C++ writes numbers.

erfinv(x) / x is a smooth function of w = -log((1 - x) (1 + x)), or for large ones of sqrt(w).
lgamma(1 + t) / t and lgamma(2 + t) / t are smooth, as lgamma is 0 at 1 and at 2.
"""

import mpmath as mp

mp.mp.dps = 60


def erfinv_ratio(w):
    """erfinv(x) / x at x = sqrt(1 - exp(-w)), by Newton's steps on erfc."""
    if w < mp.mpf(10) ** -30:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    rest = mp.exp(-w) / (1 + x)  # 1 - x
    y = mp.sqrt(w) if w > 1 else x
    for _ in range(200):
        step = (mp.erfc(y) - rest) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < mp.mpf(10) ** -50 * y:
            break
    return y / x


def of_square(function):
    return lambda v: function(v * v)


def lgamma_from(zero):
    """lgamma(zero + t) / t, at t = 0 the slope."""
    return lambda t: mp.loggamma(zero + t) / t if abs(t) > mp.mpf(10) ** -25 else mp.digamma(zero)


root = mp.sqrt
# Name, function, ends, what is taken off the variable, degree, significant decimals.
PIECES = [
    ("erfinv, f32, w up to 5, of w - 2.5", erfinv_ratio, 0, 5, 2.5, 8, 9),
    ("erfinv, f32, w beyond, of sqrt(w) - 3.125", of_square(erfinv_ratio), root(5), root(17), 3.125, 8, 9),
    ("erfinv, f64, w up to 6.25, of w - 3.125", erfinv_ratio, 0, 6.25, 3.125, 22, 17),
    ("erfinv, f64, w up to 16, of sqrt(w) - 3.25", of_square(erfinv_ratio), 2.5, 4, 3.25, 18, 17),
    ("erfinv, f64, w beyond, of sqrt(w) - 5", of_square(erfinv_ratio), 4, root(38), 5, 17, 17),
    ("lgamma, f32, around 1", lgamma_from(1), -0.5, 0.5, 0, 13, 9),
    ("lgamma, f32, around 2", lgamma_from(2), -0.5, 0.5, 0, 8, 9),
    ("lgamma, f64, around 1", lgamma_from(1), -0.5, 0.5, 0, 28, 17),
    ("lgamma, f64, around 2", lgamma_from(2), -0.5, 0.5, 0, 18, 17),
]


def coefficients(function, a, b, middle, degree):
    count = degree + 1
    a, b = mp.mpf(a), mp.mpf(b)
    points = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    matrix = mp.matrix(count, count)
    for i, p in enumerate(points):
        for k in range(count):
            matrix[i, k] = (p - middle) ** (degree - k)
    return mp.lu_solve(matrix, mp.matrix([function(p) for p in points]))


if __name__ == "__main__":
    for name, function, a, b, middle, degree, decimals in PIECES:
        found = coefficients(function, a, b, middle, degree)
        print(f"{name}:\n  " + ", ".join(mp.nstr(c, decimals) for c in found))
