"""What an output is: it takes frames with their faces, in the worker, during the run, or at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from facereject.faces.face import FaceFrame
from facereject.faces.geometry import FloatArray
from facereject.parallel import Engine
from facereject.sources.video import VideoReader


@dataclass(frozen=True)
class RunInfo:
    """What an output may want to know before a run begins.

    Parameters
    ----------
    paths : tuple of str
        The inputs as they were named: files, folders, patterns, lists.
    base : str
        The folder from which on outputs keep subfolders.
    folder : str
        Relative paths are taken from here, which matters on other machines; empty for the current folder.
    frame_rule : {"all", "any", "largest"}
        When an image or frame with several faces is accepted.
    overwrite : bool
        Files that facereject did not create may be replaced.
    max_pixels : int
        Larger images are not opened.
    engine : Engine
        Where the inputs are read.
    outputs : tuple of Output
        All outputs of the run.
    """

    paths: tuple[str, ...]
    base: str
    folder: str
    frame_rule: str
    overwrite: bool
    max_pixels: int
    engine: Engine
    outputs: tuple[Output, ...] = ()


class Media(NamedTuple):
    """The input whose frames come next.

    Attributes
    ----------
    path : str
        Where the file is, as the operating system takes it.
    source : str
        Its name in the table.
    kind : {"image", "video"}
    mean_shape : ndarray of shape (n, 2)
        The mean shape of the landmarks, for upright crops.
    video : VideoReader or None
        The open video, in a worker; None elsewhere and for images.
    stamp : str
        Size and time of change of the file that was read, see `facereject._files.stamp_of`; empty in a
        worker.
    """

    path: str
    source: str
    kind: str
    mean_shape: FloatArray
    video: VideoReader | None = None
    stamp: str = ""


class StopLoop(Exception):
    """Raised by an output to end the loop without an error, such as a window that was closed."""


class Output:
    """Something that is done with frames and their faces.

    Subclass it and define `write`; every other method is optional. Options are parameters of the
    constructor; declared as fields of a dataclass with `facereject._options.option`, they appear on the
    command line, too.

    Attributes
    ----------
    place : {"worker", "run", "end"}
        Where the output runs. "worker": beside the pixels, in the process that reads the input; the output is
        pickled. "run": in this process while the run lasts, inputs in order, without pixels. "end": once
        after the last input, without pixels; it sees all frames of the table, those of earlier runs too.
    moves_inputs : bool
        At the end, inputs may no longer be where they were: such an output runs after the others.
    panel : str
        Title of its options on the command line.

    See Also
    --------
    facereject.score_files : Takes outputs.

    Examples
    --------
    >>> from facereject.faces.face import NO_IMAGE, FaceFrame
    >>> from facereject.outputs import Output
    >>> class CountFaces(Output):
    ...     total = 0
    ...
    ...     def write(self, frame):
    ...         self.total += len(frame.faces)
    >>> output = CountFaces()
    >>> output.write(FaceFrame(0, 0.0, NO_IMAGE, []))
    >>> output.total
    0
    """

    place: ClassVar[str] = "run"
    moves_inputs: ClassVar[bool] = False
    panel: ClassVar[str] = ""

    def prepare(self, run: RunInfo) -> None:
        """Check the options before any work; raise `OptionError` if they cannot be used.

        Parameters
        ----------
        run : RunInfo
            Inputs, folders and the other outputs of the run.
        """

    def planned(self, videos: int) -> None:
        """Learn the number of videos before the first input; may raise `OptionError`.

        Parameters
        ----------
        videos : int
            How many of the inputs are videos.
        """

    def begin(self, media: Media) -> None:
        """Begin another input.

        Parameters
        ----------
        media : Media
            The input whose frames come next.
        """

    def write(self, frame: FaceFrame) -> None:
        """Take a frame with its faces.

        Parameters
        ----------
        frame : FaceFrame
            Its image is empty unless the output runs in the worker.
        """
        raise NotImplementedError

    def end(self, *, failed: bool = False) -> None:
        """End the input.

        Parameters
        ----------
        failed : bool
            By an exception: leave nothing half-written behind.
        """

    def close(self) -> None:
        """End the run."""

    def files(self) -> list[str]:
        """List the single files that this output writes: none of them may be an input.

        Returns
        -------
        list of str
        """
        return []

    def target_of(self, path: str) -> str | None:
        """Name the file that is made from an input, where there is one for each.

        Parameters
        ----------
        path : str
            The input.

        Returns
        -------
        str or None
        """
        return None

    def holds(self, path: str) -> bool:
        """Tell whether a file is where this output puts files, and so no new input.

        Parameters
        ----------
        path : str
            The file.

        Returns
        -------
        bool
        """
        return False

    def where(self, path: str) -> str:
        """Tell where an input is now, if this output has moved it.

        Parameters
        ----------
        path : str
            The input.

        Returns
        -------
        str
        """
        return path

    def report(self) -> list[str]:
        """Describe what was done, for the summary of the run.

        Returns
        -------
        list of str
            Sentences.
        """
        return []
