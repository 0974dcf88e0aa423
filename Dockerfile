# docker build -t facereject .
# docker run --rm -v "$PWD/photos:/photos:ro" facereject /photos > faces.csv
# docker run --rm --entrypoint facereject facereject info
FROM python:3.12-slim AS build
WORKDIR /source
RUN pip install --no-cache-dir "build==1.*"
COPY pyproject.toml README.md LICENSE ./
COPY facereject ./facereject
RUN python -m build --wheel --outdir /wheels

FROM python:3.12-slim
# what the wheels of OpenCV and LightGBM expect of the system; Debian keeps only the newest version of a package, so none is named
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgl1 libglib2.0-0 libgomp1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[fast,parquet,heic]" && rm -rf /wheels
# a number, as some hosts ask whether it is root before they know the names
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin facereject
USER 10001
WORKDIR /home/facereject
# containers often run without a network
RUN facereject models get yunet --quiet
ENTRYPOINT ["facereject", "score"]
CMD ["--help"]
