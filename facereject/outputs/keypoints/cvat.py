"""CVAT: XML 1.1 for images, a skeleton for every face."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from xml.sax.saxutils import escape, quoteattr

from facereject._options import option
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.keypoints.collected import KeypointFile, confidence

_ATTRIBUTES = ("expected_error", "confidence", "accepted", "reason")


@dataclass
class CVAT(KeypointFile):
    """Write all photos as CVAT XML, with a skeleton ``face`` of numbered points for every face.

    ``expected_error``, ``confidence``, ``accepted`` and ``reason`` are attributes of the skeleton, so that
    CVAT's filters find them; hidden landmarks are ``occluded``. Videos are left out.

    Parameters
    ----------
    path : path
        ``.xml``.

    See Also
    --------
    LabelStudio : The same faces for Label Studio.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import CVAT
    >>> score_files("photos", CVAT("annotations.xml"))  # doctest: +SKIP
    """

    title = "CVAT"
    suffixes = (".xml",)

    path: str = option(
        MISSING, "--cvat", metavar="FILE", help="Skeletons for CVAT, XML 1.1 for images (.xml)."
    )

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """An image with its skeletons."""
        width, height = self.size
        name = quoteattr(self.name)
        lines = [f'  <image id="{self.n_images - 1}" name={name} width="{width}" height="{height}">']
        for face in faces:
            lines.append('    <skeleton label="face" source="auto" z_order="0">')
            for i, ((x, y), seen) in enumerate(
                zip(face.landmarks.tolist(), self._visible(face), strict=True)
            ):
                lines.append(
                    f'      <points label="{i}" source="auto" outside="0" occluded="{0 if seen else 1}" '
                    f'points="{x:.2f},{y:.2f}"></points>'
                )
            sure, accepted = f"{confidence(face):.3f}", str(face.accepted).lower()
            values = (f"{face.expected_error:.2f}", sure, accepted, escape(face.reason))
            for name, value in zip(_ATTRIBUTES, values, strict=True):
                lines.append(f'      <attribute name="{name}">{value}</attribute>')
            lines.append("    </skeleton>")
        self._add("images", "\n".join([*lines, "  </image>"]))

    def assembled(self) -> Iterator[str]:
        """The file."""
        yield "<?xml version='1.0' encoding='utf-8'?>\n<annotations>\n  <version>1.1</version>\n"
        yield "  <meta><task>"
        yield f"<name>facereject</name><size>{self.n_images}</size><mode>annotation</mode><labels>\n"
        attributes = "".join(
            f"<attribute><name>{name}</name><mutable>False</mutable><input_type>text</input_type>"
            "<default_value></default_value><values></values></attribute>"
            for name in _ATTRIBUTES
        )
        label = "    <label><name>{}</name><type>{}</type><attributes>{}</attributes>{}</label>\n"
        yield label.format("face", "skeleton", attributes, "")
        for i in range(self.n_points):
            yield label.format(i, "points", "", "<parent>face</parent>")
        yield "  </labels></task></meta>\n"
        yield from self._pieces("images", "\n")
        yield "\n</annotations>\n"
