"""What becomes of frames and their faces: a table, sorted files, videos, crops, contact sheets.

Every output is a class with its options as parameters; see `Output` for how to write another one.
"""

from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.annotated_images import AnnotatedImages
from facereject.outputs.base import Output
from facereject.outputs.best_frames import BestFrames
from facereject.outputs.contact_sheet import ContactSheet
from facereject.outputs.crops import Crops
from facereject.outputs.keypoints.coco import COCOKeypoints
from facereject.outputs.keypoints.cvat import CVAT
from facereject.outputs.keypoints.deeplabcut import DeepLabCut
from facereject.outputs.keypoints.fiftyone import FiftyOne
from facereject.outputs.keypoints.label_studio import LabelStudio
from facereject.outputs.keypoints.supervision import to_supervision
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
