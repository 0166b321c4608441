"""Follows faces through the frames of a video, and cuts people out of frames."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.models.detection import overlap
from jinx_pipeline.models.pictures import Pictures, inside
from jinx_pipeline.operators.api.metadata import metadata_of
from jinx_pipeline.operators.video.frames import sampled_frames, upright
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

HUMAN_TRACKS: Final = "human_track_data"
"""The name in `__dj__meta__` of the tracks of each video."""

Corners = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


class Track(NamedTuple):
    """A face in some frames.

    Attributes:
        frames: The numbers of the frames, ascending.
        faces: The box of the face in each.
        bodies: The box of the person in each, or None where none was found; empty without a detector.
    """

    frames: list[int]
    faces: list[Corners]
    bodies: list[Corners | None]

    @classmethod
    def of(cls, value: Any) -> "Track":
        """The track from `__dj__meta__`.

        Raises:
            ValueError: It is none.
        """
        try:
            frames = [int(number) for number in value["frame"]]
            faces = [_corners(box) for box in value["xy_bbox"]]
            bodies = [_corners(box) if box else None for box in value.get("xy_human_bbox") or []]
        except (TypeError, KeyError, ValueError, AttributeError):
            raise ValueError("a track has frame, xy_bbox and xy_human_bbox, lists of equal length") from None
        if len(faces) != len(frames) or len(bodies) not in {0, len(frames)}:
            raise ValueError(f"a track has {len(frames)} frames, {len(faces)} faces and {len(bodies)} people")
        return cls(frames, faces, bodies)

    def to_data(self) -> dict[str, Any]:
        """What `of` reads."""
        bodies = [list(box) if box else [] for box in self.bodies]
        return {"frame": self.frames, "xy_bbox": [list(box) for box in self.faces], "xy_human_bbox": bodies}


def _corners(box: Sequence[Any]) -> Corners:
    left, top, right, bottom = (float(value) for value in box)
    return left, top, right, bottom


def tracks_by_video(sample: Mapping[str, Any], media: Sequence[Media], field: str) -> list[tuple[Media, list[Track]]]:
    """The videos of a sample with their tracks, which `__dj__meta__` has by the name `field`.

    Raises:
        ValueError: There are tracks of more videos than the sample has.
    """
    tracks = [[Track.of(value) for value in video or []] for video in metadata_of(sample).get(field) or []]
    if len(tracks) > len(media):
        raise ValueError(f"{field} has {len(tracks)} videos, and the sample {len(media)}")
    return list(zip(media, tracks, strict=False))


def linked(
    found: Sequence[tuple[int, Sequence[Corners]]], cuts: Sequence[int], *, least_overlap: float, most_gap: int
) -> list[Track]:
    """The tracks of faces: each face goes to the track whose last face it overlaps most.

    Args:
        found: The numbers of frames, ascending, with the faces in each.
        cuts: The first frames of new scenes, which end all tracks.
        least_overlap: The smallest intersection of two faces of a track as a share of their union.
        most_gap: A track ends if its face is in none of so many frames.
    """
    done: list[Track] = []
    active: list[Track] = []
    coming = list(cuts)
    for number, faces in found:
        if coming and number >= coming[0]:
            done, active = [*done, *active], []
            while coming and number >= coming[0]:
                coming.pop(0)
        done += [track for track in active if number - track.frames[-1] > most_gap]
        active = [track for track in active if number - track.frames[-1] <= most_gap]
        shares = sorted(
            (-overlap(track.faces[-1], face), at, place)
            for at, track in enumerate(active)
            for place, face in enumerate(faces)
        )
        used, placed = set[int](), set[int]()
        for share, at, place in shares:
            if -share >= least_overlap and at not in used and place not in placed:
                used.add(at)
                placed.add(place)
                active[at].frames.append(number)
                active[at].faces.append(faces[place])
        active += [Track([number], [face], []) for place, face in enumerate(faces) if place not in placed]
    return sorted([*done, *active], key=lambda track: (track.frames[0], track.faces[0]))


def body_of(face: Corners, people: Sequence[Corners]) -> Corners | None:
    """The smallest box of a person that has at least half of a face; None if there is none."""
    area = (face[2] - face[0]) * (face[3] - face[1])
    around = [box for box in people if _common(face, box) >= area / 2]
    return min(around, key=lambda box: (box[2] - box[0]) * (box[3] - box[1]), default=None)


def _common(first: Corners, second: Corners) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(width, 0.0) * max(height, 0.0)


def every_frame(operator: str, interval: int) -> Pictures:
    """Every so many frames of a video are its pictures, from the first on."""
    return Pictures(partial(_every_frame, operator=operator, interval=interval), ("every frame", interval))


def _every_frame(medium: Media, *, operator: str, interval: int) -> "Iterator[Image]":
    for frame in islice(sampled_frames(medium, operator, "all_frames", 0), 0, None, interval):
        yield upright(frame)


def cut_out(operator: str, places: Sequence[tuple[int, Corners]], margin: float) -> Pictures:
    """Parts of the frames of a video are its pictures.

    Args:
        operator: The name of the operator.
        places: The number of a frame, ascending, and the box in it.
        margin: How much wider and higher the part is on each side, as a share of the box.
    """
    key = ("cut out", tuple(places), margin)
    return Pictures(partial(_cut_out, operator=operator, places=places, margin=margin), key)


def _cut_out(
    medium: Media, *, operator: str, places: Sequence[tuple[int, Corners]], margin: float
) -> "Iterator[Image]":
    coming = list(reversed(places))
    for number, frame in enumerate(sampled_frames(medium, operator, "all_frames", 0)):
        if not coming:
            return
        if coming[-1][0] > number:
            continue
        picture = upright(frame)
        while coming and coming[-1][0] == number:
            left, top, right, bottom = coming.pop()[1]
            across, down = margin * (right - left), margin * (bottom - top)
            yield picture.crop(inside((left - across, top - down, right + across, bottom + down), picture.size))
    if coming:
        raise ValueError(f"a track has the frame {coming[-1][0]}, and the video has no such frame")
