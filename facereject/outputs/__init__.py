"""What becomes of frames and their faces: a table, sorted files, videos, crops, contact sheets.

Every output is a class with its options as parameters; see `Output` for how to write another one.
"""

from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.base import Output
from facereject.outputs.contact_sheet import ContactSheet
from facereject.outputs.images import AnnotatedImages, BestFrames, Crops
from facereject.outputs.keypoints.collected import to_supervision
from facereject.outputs.keypoints.cvat import CVAT
from facereject.outputs.keypoints.deeplabcut import DeepLabCut
from facereject.outputs.keypoints.json_files import COCOKeypoints, FiftyOne, LabelStudio
from facereject.outputs.saved_video import SavedVideo
from facereject.outputs.sorted_files import SortedFiles
from facereject.outputs.table import Table
from facereject.outputs.timeline import Timeline

#: the outputs of ``facereject filter``, in the order of its help; an output is added by one line here
OUTPUTS: tuple[type[Output], ...] = (
    SortedFiles,
    SavedVideo,
    Timeline,
    Crops,
    BestFrames,
    AnnotatedImages,
    ContactSheet,
    COCOKeypoints,
    FiftyOne,
    CVAT,
    LabelStudio,
    DeepLabCut,
)

__all__ = [
    "CVAT",
    "AnnotatedImages",
    "BestFrames",
    "COCOKeypoints",
    "ContactSheet",
    "Crops",
    "DeepLabCut",
    "FiftyOne",
    "LabelStudio",
    "Output",
    "SavedVideo",
    "SortedFiles",
    "Table",
    "Timeline",
    "VideoWriter",
    "to_supervision",
]
