# Images of Orrery; docs/containment.md says how to run them. First: sh compile.sh --all
#   docker build -t orrery .
#   docker build -t orrery-sandbox --target sandbox .

FROM debian:bookworm-slim AS install
ARG TARGETARCH
COPY install.sh dist/release/ /release/
# An image runs on other machines than the one it is built on: the build for x64 is the one that asks for the least.
RUN case ${TARGETARCH:-$(dpkg --print-architecture)} in \
      amd64) target=linux-x64-baseline ;; \
      *) target=linux-arm64 ;; \
    esac && \
    INSTALL_DIR=/installed/bin sh /release/install.sh --target "$target" --stella

FROM debian:bookworm-slim AS base
# Any user may run it (docker run --user), also one that has no entry in passwd.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin orrery && \
    install -d -m 1777 /data /work
COPY --from=install /installed/bin/ /usr/local/bin/
COPY --from=install /installed/share/doc/orrery/LICENSE /installed/share/doc/orrery/THIRD-PARTY-NOTICES.txt /usr/local/share/doc/orrery/
ENV ORRERY_HOME=/data
VOLUME /data
WORKDIR /work
EXPOSE 4760
HEALTHCHECK --interval=30s --timeout=6s --start-period=5s --retries=3 CMD ["orrery", "doctor", "--server", "http://127.0.0.1:4760"]
CMD ["orrery", "serve", "--host", "0.0.0.0", "--token-file", "/data/token"]

# What coding tools expect around them.
FROM base AS sandbox
RUN apt-get update && \
    apt-get install -y --no-install-recommends ca-certificates git python3 ripgrep && \
    rm -rf /var/lib/apt/lists/*
USER orrery

# The last stage is what is built without --target.
FROM base AS slim
USER orrery
