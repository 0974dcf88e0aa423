"""Names of the columns of the original tables, in file order."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


AVILA_NAMES = _words(
    "intercolumnar_distance upper_margin lower_margin exploitation row_number modular_ratio"
    " interlinear_spacing weight peak_number modular_ratio_interlinear_spacing"
)
CODRNA_NAMES = _words("deltaG_total_x10 len_shorter freqA_1 freqU_1 freqC_1 freqA_2 freqU_2 freqC_2")
COVTYPE_NAMES = [
    *_words(
        "Elevation Aspect Slope Horizontal_Distance_To_Hydrology Vertical_Distance_To_Hydrology"
        " Horizontal_Distance_To_Roadways Hillshade_9am Hillshade_Noon Hillshade_3pm"
        " Horizontal_Distance_To_Fire_Points"
    ),
    *(f"Wilderness_Area{i}" for i in range(1, 5)),
    *(f"Soil_Type{i}" for i in range(1, 41)),
]
LETTER_NAMES = _words(
    "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx"
)
MARKETING_NUMBERS = _words("age balance day duration campaign pdays previous")
MARKETING_WORDS = _words("job marital education default housing loan contact month poutcome")
ABALONE_NAMES = [
    "Length",
    "Diameter",
    "Height",
    "Whole weight",
    "Shucked weight",
    "Viscera weight",
    "Shell weight",
]
BANK_NAMES = [
    *(f"a{i}{part}" for i in (1, 2, 3) for part in ("cx", "cy", "sx", "sy", "rho", "pop")),
    "temp",
    *(f"b{i}{part}" for i in (1, 2, 3) for part in ("x", "y", "call", "eff")),
    "mxql",
]
BIKESHARE_NAMES = _words("season mnth hr holiday weekday workingday weathersit temp atemp hum windspeed")
CALIFORNIA_NAMES = _words(
    "longitude latitude housingMedianAge totalRooms totalBedrooms population households medianIncome"
)
CCPP_NAMES = ["AT", "V", "AP", "RH"]
CPU_NAMES = _words(
    "lread lwrite scall sread swrite fork exec rchar wchar pgout ppgout pgfree pgscan atch pgin ppgin pflt"
    " vflt runqsz freemem freeswap"
)
_COMMENTS = ["CC1_total_before_base", "CC2_last24h", "CC3_last48to24h", "CC4_first24h", "CC5_CC2minusCC3"]
_DAYS = _words("sun mon tue wed thu fri sat")
FACEBOOK_NAMES = [
    *_words("page_likes page_checkins page_talking_about page_category"),
    *(f"{count}_{what}" for count in _COMMENTS for what in ("min", "max", "mean", "median", "std")),
    *_COMMENTS,
    *_words("base_time post_length post_share_count post_promotion_status h_local"),
    *(f"{when}_{day}" for when in ("pub", "base") for day in _DAYS),
]
GPU_NAMES = _words("MWG NWG KWG MDIMC NDIMC MDIMA NDIMB KWI VWM VWN STRM STRN SA SB")
GPU_RUNS = [f"Run{i} (ms)" for i in (1, 2, 3, 4)]
METRO_NUMBERS = ["temp", "rain_1h", "snow_1h", "clouds_all"]
MSD_NAMES = [*(f"timbre_avg_{i}" for i in range(1, 13)), *(f"timbre_cov_{i}" for i in range(1, 79))]
