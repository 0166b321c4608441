"""Separates the signal of an audio from its noise: its spectrogram as the product of two non-negative matrices."""

import sys
from typing import TYPE_CHECKING

import numpy as np

from jinx_pipeline.kernels import descend_factors

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_WINDOW = 2048
_HOP = 512
_PARTS = 2
_TOLERANCE = 1e-4


def signal_to_noise(samples: "Floats", iterations: int) -> float:
    """The ratio of the powers of the two parts of an audio, in decibels; the largest float if the second is silent.

    The magnitudes of the short-time Fourier transform (2048 samples, every 512) are divided into two parts of rank one
    by coordinate descent from seeded random numbers. Each part is transformed back with phase zero, as in Data-Juicer,
    whose values these are.

    Args:
        samples: The samples, of shape (n,).
        iterations: The largest number of steps of the descent.
    """
    magnitudes = _magnitudes(samples)
    activations, spectra = _factors(magnitudes, iterations)
    signal, noise = (_power(activations[:, part], spectra[part]) for part in range(_PARTS))
    return sys.float_info.max if noise == 0 else float(10 * np.log10(signal / noise)) if signal else -sys.float_info.max


def _magnitudes(samples: "Floats") -> "Floats":
    """The magnitudes of the short-time Fourier transform, of shape (frames, frequencies)."""
    padded = np.pad(samples.astype(np.float32, copy=False), _WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP]
    return np.abs(np.fft.rfft(frames * _hann().astype(np.float32)))


def _hann() -> "npt.NDArray[np.float64]":
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)


def _factors(matrix: "Floats", iterations: int) -> "tuple[Floats, Floats]":
    """Non-negative matrices of shapes (rows, 2) and (2, columns) whose product is close to a matrix."""
    rows, columns = matrix.shape
    random = np.random.RandomState(0)
    scale = np.sqrt(matrix.mean() / _PARTS)
    right = np.abs(scale * random.standard_normal((_PARTS, columns)).astype(np.float32))
    left = np.abs(scale * random.standard_normal((rows, _PARTS)).astype(np.float32)).T.copy()
    left, right = descend_factors(matrix, left, right, iterations, _TOLERANCE)
    return left.T, right


def _power(activation: "Floats", spectrum: "Floats") -> float:
    """The mean square of the audio whose frames share one spectrum with zero phase, and vary in strength.

    All frames are multiples of one; they are added where they overlap, and divided by the sum of the squared windows.
    """
    window = _hann()
    steps = _WINDOW // _HOP
    frame = (np.fft.irfft(spectrum, _WINDOW) * window).reshape(steps, _HOP)
    squares = (window**2).reshape(steps, _HOP)
    strengths = np.concatenate([np.zeros(steps - 1), activation, np.zeros(steps - 1)])
    present = np.concatenate([np.zeros(steps - 1), np.ones(len(activation)), np.zeros(steps - 1)])
    overlaps = np.lib.stride_tricks.sliding_window_view(strengths, steps)[:, ::-1]
    weights = np.lib.stride_tricks.sliding_window_view(present, steps)[:, ::-1] @ squares
    tiny = np.finfo(np.float32).tiny
    audio = overlaps @ frame
    np.divide(audio, weights, out=audio, where=weights > tiny)
    # Half a window at each end is padding.
    inner = audio.reshape(-1)[_WINDOW // 2 :][: _HOP * (len(activation) - 1)]
    return float(np.mean(inner**2)) if len(inner) else 0.0
