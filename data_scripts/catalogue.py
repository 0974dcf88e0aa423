"""The list of the paper's 22 tables: sizes, classes, split, checksum of our copy, address of the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

UCI = "https://archive.ics.uci.edu/static/public/"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
TORGO = "https://www.dcc.fc.up.pt/~ltorgo/Regression/"
UCI_LICENCE = "UCI, usually CC BY 4.0"


@dataclass(frozen=True)
class Original:
    """A file as its authors publish it.

    Attributes
    ----------
    file : str
        Name on disk.
    url : str
        Public address.
    sha256 : str
        Checksum where a trusted source states one, else empty.
    """

    file: str
    url: str
    sha256: str = ""


@dataclass(frozen=True)
class DataSet:
    """One table of the paper.

    Attributes
    ----------
    name : str
        As in the paper, upper case; the .npz file has it in lower case.
    task : {"classification", "ordinal"}
    rows, features : int
        Size of the copy whose checksum is ``sha256``.
    n_classes : int
        Y of the paper; for ordinal sets the target is cut into that many.
    sha256 : str
        Checksum of the .npz file the project's results were made with.
    originals : tuple of Original
    licence : str
    digest : str
        ``convert.content_digest`` of that file's rows; empty where an original may differ in the last digit
        (FACEBOOK, some of whose columns were computed) or has more rows.
    paper_rows : int
        What the paper had; 0 in the list means as many as ``rows``.
    fractions : tuple of float
        Share of the rows in Trn1, Val1, Trn2 and Val2; the test part takes the rest.
    """

    name: str
    task: Literal["classification", "ordinal"]
    rows: int
    features: int
    n_classes: int
    sha256: str
    originals: tuple[Original, ...]
    licence: str = UCI_LICENCE
    digest: str = ""
    paper_rows: int = 0
    fractions: tuple[float, float, float, float] = (0.30, 0.10, 0.30, 0.10)

    def __post_init__(self) -> None:
        if not self.paper_rows:
            object.__setattr__(self, "paper_rows", self.rows)

    @property
    def stem(self) -> str:
        """Name of the .npz file without its ending."""
        return self.name.lower()

    @property
    def partial(self) -> bool:
        """Whether the copy with this checksum lacks rows the paper had."""
        return self.rows < self.paper_rows


def _uci(number: int, name: str) -> tuple[Original, ...]:
    return (Original(f"{name}.zip", f"{UCI}{number}/{name}.zip"),)


def _libsvm(*files: str) -> tuple[Original, ...]:
    return tuple(Original(file, LIBSVM + file) for file in files)


def _classification(
    name: str, size: tuple[int, int, int], sha256: str, originals: tuple[Original, ...], **others: Any
) -> DataSet:
    return DataSet(name, "classification", *size, sha256, originals, **others)


def _ordinal(
    name: str, size: tuple[int, int, int], sha256: str, originals: tuple[Original, ...], **others: Any
) -> DataSet:
    return DataSet(name, "ordinal", *size, sha256, originals, **others)


# size is (rows, features, classes)
_ALL = (
    _classification(
        "AVILA",
        (20_867, 10, 12),
        "b8b4c6810fee8d7a747d5579ad742cdeb53c91cd6b0d4c87619c10c0e5b7ead9",
        _uci(459, "avila"),
        digest="208ef54139249c2ac1b6db2a61e753c7",
    ),
    _classification(
        "CODRNA",
        (331_152, 8, 2),
        "a34ece1c78eb587284b487f2583d501e97cefe2c17f8152f2e8a1dc5be5eaedd",
        _libsvm("cod-rna", "cod-rna.t"),
        licence="none stated on the libSVM page (Uzilov et al. 2006)",
        fractions=(0.25, 0.05, 0.20, 0.20),
        digest="8f04ba39d5fd2e1237c367d33b9913ab",
    ),
    _classification(
        "COVTYPE",
        (581_012, 54, 7),
        "6f524009457e3de8514601bd5ed053791639c22b4980e52cebab7535af544720",
        (
            # the same file as in UCI's covertype.zip; address and checksum as in scikit-learn
            Original(
                "covtype.data.gz",
                "https://ndownloader.figshare.com/files/5976039",
                "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
            ),
        ),
        fractions=(0.28, 0.20, 0.02, 0.20),
        digest="49ad111a477f3e22fdabc249b07ff3bf",
    ),
    _classification(
        "IJCNN",
        (49_990, 22, 2),
        "cac32140e57527cdb9f691bb3a6efb35c833fc0de8a682a1368eed77590ed0f7",
        _libsvm("ijcnn1.tr.bz2", "ijcnn1.val.bz2"),
        licence="none stated on the libSVM page (Prokhorov 2001)",
        digest="d57f8f147d1e1ec40260272385a90497",
    ),
    _classification(
        "LETTER",
        (20_000, 16, 26),
        "2ae7584cc4677153dd54e7818f258e8a6e30cce6056c8de4a09297a44da5c00d",
        _uci(59, "letter+recognition"),
        digest="f13ee482d047e6adf87a589e26bc81d8",
    ),
    _classification(
        "MARKETING",
        (45_211, 51, 2),
        "d63a01663e0edfb928b2785e4f8fbcad473e92925dc35dd617046073bfcdcb8d",
        _uci(222, "bank+marketing"),
        digest="4aae50912623f1e5eadabae34fd7779d",
    ),
    _classification(
        "PENDIGIT",
        (10_992, 16, 10),
        "6e7d9f802716a13509672b3342e3e871066348d451cab4b7acbcfd74a8eaf607",
        _uci(81, "pen+based+recognition+of+handwritten+digits"),
        digest="6bf6b6bfca62f9dcc98a5ba2a84ff950",
    ),
    _classification(
        "PHISHING",
        (11_055, 68, 2),
        "1ad18f486a0be39baf07621625c9c6fdfd27613e1bfe66d5c8f84f5925147031",
        _uci(327, "phishing+websites"),
        digest="36a3467c1bd62d73df85298b99240c4e",
    ),
    _classification(
        "SATTELITE",
        (6_435, 36, 6),
        "00268d5d75ac4e278ed1b6ed299b271de6526208d9fedd4877a26ea21ea537f5",
        _uci(146, "statlog+landsat+satellite"),
        digest="aabe58c1db773502bd0999109046f69e",
    ),
    _classification(
        "SENSORLESS",
        (2_200, 48, 11),
        "aef462c8c1b6cf6923b360d9b56dc2f8546de0dd8ba918fb451513bb780076d7",
        _uci(325, "dataset+for+sensorless+drive+diagnosis"),
        paper_rows=58_509,
    ),
    _classification(
        "SHUTTLE",
        (58_000, 9, 7),
        "ded6ce9dd17df8f43dabeaa2869d4a54b18c83e80ef306f35e0d88988e5d82a2",
        _uci(148, "statlog+shuttle"),
        digest="cc8b2eaf99e5e9d27c10f726e627d291",
    ),
    _ordinal(
        "ABALONE",
        (4_177, 10, 19),
        "aeb1d32220b3f93c0d706cc64f51bf06f2a721d1c167f3fba9b7aad6be3ea551",
        _uci(1, "abalone"),
        digest="08ca1c691deb47930b95cacbe6e1aa68",
    ),
    _ordinal(
        "BANK",
        (8_192, 32, 10),
        "601b28c5ad36720e8350a83abe3100d01c1ba2a729b2ff19cf7f6e4d8f61fd18",
        (Original("bank32NH.tgz", TORGO + "bank32NH.tgz"),),
        licence="none stated (Delve; collection of L. Torgo)",
        digest="c093be88c006031d2ca6cde3f6fcc1dc",
    ),
    _ordinal(
        "BIKESHARE",
        (17_379, 11, 10),
        "0ae6334e9546d60c4e772337e631dcfd67ef331f6a95c0f7f45227a1701f5789",
        _uci(275, "bike+sharing+dataset"),
        digest="82735b4a9c235d53de4e158e7e07bab6",
    ),
    _ordinal(
        "CALIFORNIA",
        (20_640, 8, 10),
        "1029c05b09aecdb61e630df53d981e7889b77d8e16a808ad7d29290b06b3d420",
        (
            # address and checksum as in scikit-learn
            Original(
                "cal_housing.tgz",
                "https://ndownloader.figshare.com/files/5976036",
                "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681",
            ),
        ),
        licence="none stated (StatLib; Pace and Barry 1997)",
        digest="2ef5876ba713842dee21510221d66e3c",
    ),
    _ordinal(
        "CCPP",
        (9_568, 4, 10),
        "ca4c2be52f6d67c614cfb297c75d2e7f197c6819142cffad560fefd96d025ae5",
        _uci(294, "combined+cycle+power+plant"),
        digest="88e5319da26ec5a418621c21e8f88257",
    ),
    _ordinal(
        "CPU",
        (8_192, 21, 10),
        "9acb7a53c88282dfc2f658c601b857a836aeb0e1ff6be1d5e9059c8554fcca1f",
        (Original("compact.tar.gz", TORGO + "compact.tar.gz"),),
        licence="none stated (Delve; collection of L. Torgo)",
        digest="4a3428defb023a68622ea7de627a9666",
    ),
    _ordinal(
        "FACEBOOK",
        (50_993, 53, 10),
        "c603ba2751842b72a6d70f6ea492211bf0ba8bc0e5639c448c2f08e70b7601ae",
        _uci(363, "facebook+comment+volume+dataset"),
    ),
    _ordinal(
        "GPU",
        (241_600, 14, 10),
        "0b98fa48464a5ec566c6f6d9bff1455d5cf0102edd392b55ec3308a38fc73a60",
        _uci(440, "sgemm+gpu+kernel+performance"),
        digest="0592fe1be159baed49fd93ff89b21ea8",
    ),
    _ordinal(
        "METRO",
        (48_204, 30, 10),
        "1380f430690dcf1fc608034efc504b1f51b45052d4a3e5fa12d6af396996abf5",
        _uci(492, "metro+interstate+traffic+volume"),
        digest="05bb7d24c816da7d995f93b6678c4fcd",
    ),
    _ordinal(
        "MSD",
        (1_176, 90, 41),
        "2b63f2ae026f2e4747cf386bf3bb8739a2953977f6304961afe658110fdf29c5",
        _uci(203, "yearpredictionmsd"),
        paper_rows=499_671,
    ),
    _ordinal(
        "SUPERCOND",
        (4_252, 81, 10),
        "6df3de52daade23c4a4f50e8858adecd07a210f97af6e93045e7eba8fa32a5ee",
        _uci(464, "superconductivty+data"),
        paper_rows=21_263,
    ),
)
DATASETS: dict[str, DataSet] = {entry.name: entry for entry in _ALL}
