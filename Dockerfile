# syntax=docker/dockerfile:1
# The studio with PostgreSQL support, as a user without rights.
#   docker build -t fairask .
FROM python:3.12-slim AS build
WORKDIR /src
COPY constraints.txt ./
COPY library ./library
COPY studio ./studio
RUN python -m venv /opt/fairask \
    && /opt/fairask/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ./library './studio[postgres]'

FROM python:3.12-slim
LABEL org.opencontainers.image.title="fairask" \
      org.opencontainers.image.description="Fair active learning: the studio and the command line" \
      org.opencontainers.image.licenses="BSD-3-Clause"
RUN useradd --create-home --uid 10001 fairask \
    && mkdir /data \
    && chown fairask:fairask /data
COPY --from=build /opt/fairask /opt/fairask
ENV PATH=/opt/fairask/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1
USER fairask
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/signin', timeout=4)"]
ENTRYPOINT ["fairask"]
CMD ["--help"]
