"""Which published files make up each table, and the function that reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, NamedTuple

from data_scripts import parse_classification as classification
from data_scripts import parse_ordinal as ordinal
from data_scripts.convert import Table


class Parser(NamedTuple):
    """Names of the files, unpacked, in the order in which ``parse`` takes them."""

    files: tuple[str, ...]
    parse: Callable[[Sequence[IO[bytes]]], Table]


PARSERS: dict[str, Parser] = {
    "AVILA": Parser(("avila-tr.txt", "avila-ts.txt"), classification.avila),
    "CODRNA": Parser(("cod-rna", "cod-rna.t"), classification.codrna),
    "COVTYPE": Parser(("covtype.data",), classification.covtype),
    "IJCNN": Parser(("ijcnn1.tr", "ijcnn1.val"), classification.ijcnn),
    "LETTER": Parser(("letter-recognition.data",), classification.letter),
    "MARKETING": Parser(("bank-full.csv",), classification.marketing),
    "PENDIGIT": Parser(("pendigits.tes", "pendigits.tra"), classification.pendigit),
    "PHISHING": Parser(("Training Dataset.arff",), classification.phishing),
    "SATTELITE": Parser(("sat.trn", "sat.tst"), classification.sattelite),
    "SENSORLESS": Parser(("Sensorless_drive_diagnosis.txt",), classification.sensorless),
    "SHUTTLE": Parser(("shuttle.trn", "shuttle.tst"), classification.shuttle),
    "ABALONE": Parser(("abalone.data",), ordinal.abalone),
    "BANK": Parser(("bank32nh.data", "bank32nh.test"), ordinal.bank),
    "BIKESHARE": Parser(("hour.csv",), ordinal.bikeshare),
    "CALIFORNIA": Parser(("cal_housing.data",), ordinal.california),
    "CCPP": Parser(("Folds5x2_pp.xlsx",), ordinal.ccpp),
    "CPU": Parser(("cpu_act.data",), ordinal.cpu),
    "FACEBOOK": Parser(("Features_Variant_1.csv", "Features_TestSet.csv"), ordinal.facebook),
    "GPU": Parser(("sgemm_product.csv",), ordinal.gpu),
    "METRO": Parser(("Metro_Interstate_Traffic_Volume.csv",), ordinal.metro),
    "MSD": Parser(("YearPredictionMSD.txt",), ordinal.msd),
    "SUPERCOND": Parser(("train.csv",), ordinal.supercond),
}
