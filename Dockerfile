# docker build -t facereject .
# docker run --rm -v "$PWD/photos:/photos:ro" facereject /photos > faces.csv
# docker run --rm --entrypoint facereject facereject info
FROM python:3.12-slim AS build
WORKDIR /source
RUN pip install --no-cache-dir build
COPY pyproject.toml README.md LICENSE ./
COPY facereject ./facereject
RUN python -m build --wheel --outdir /wheels

FROM python:3.12-slim
# what OpenCV's wheel expects of the system
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgl1 libglib2.0-0 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[fast,parquet,heic]" && rm -rf /wheels
RUN useradd --create-home --shell /usr/sbin/nologin facereject
USER facereject
WORKDIR /home/facereject
ENTRYPOINT ["facereject", "score"]
CMD ["--help"]
