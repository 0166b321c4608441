"""The videos and sounds that are compared, made on the spot."""

from pathlib import Path

from tests.make_media import sounds, videos

SUFFIXES = {"matroska": ".mkv", "vp9": ".webm", "mjpeg": ".avi", "flac": ".flac", "ogg": ".ogg", "mp3": ".mp3"}


def make(directory: Path, count: int) -> None:
    """Write media into `videos`, `sounds` and `large`.

    Args:
        directory: The directory.
        count: The number of videos, and of sounds, besides one of each kind.
    """
    made = {kind: directory / kind for kind in ("videos", "sounds", "large")}
    for path in made.values():
        path.mkdir()
    for name, draw in videos.GOOD.items():
        (made["videos"] / f"{name}{SUFFIXES.get(name, '.mp4')}").write_bytes(draw())
    for number in range(count):
        rate = 10 + 5 * (number % 4)
        data = videos.video(20 + number % 50, rate=rate, size=(320, 180), speed=number % 7 * 0.5, gop=5 + number % 40)
        (made["videos"] / f"{number:03}.mp4").write_bytes(data)
        wave = sounds.noisy(1 + number % 30 * 0.1, noise=0.02 * (number % 11), seed=number)
        (made["sounds"] / f"{number:03}.wav").write_bytes(sounds.encoded(wave))
    for name, record in sounds.GOOD.items():
        (made["sounds"] / f"{name}{SUFFIXES.get(name, '.wav')}").write_bytes(record())
    (made["large"] / "video.mp4").write_bytes(videos.video(300, rate=30, size=(1280, 720), gop=250, sound="aac"))
    (made["large"] / "sound.wav").write_bytes(sounds.encoded(sounds.noisy(20.0, seed=1)))
