# syntax=docker/dockerfile:1

# By tag, so that a rebuild brings the fixes of the base images. For a build that can be repeated,
# pin both by digest (name:tag@sha256:...): see "The image" in docs/deploy.md.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

# Builds the program that ships. `npm ci` needs the lock file alone, so that the layer is kept
# until a dependency changes; the image brings its own Node, so no install script has to run.
FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY tools tools
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts/build scripts/build
COPY src src
COPY simulator simulator
RUN node scripts/build/program.ts

# No shell, no package manager, not root. Nothing is written: run it with a read-only root.
FROM ${RUNTIME_IMAGE}
WORKDIR /app
COPY --from=build --chown=0:0 /src/dist ./
COPY --chown=0:0 LICENSE ./
USER 65532:65532
# 6190 is the data port, on loopback unless OUTRIGGER_LISTEN says otherwise; 6191 serves health
# and metrics to the kubelet and Prometheus.
EXPOSE 6190 6191
STOPSIGNAL SIGTERM
# These settings keep the memory of a loaded sidecar low; src/cli/process-settings.ts says what each does. Given here,
# `serve` does not have to start its process anew to get them.
ENV MALLOC_ARENA_MAX=2
ENV MALLOC_MMAP_MAX_=16384
ENV MALLOC_MMAP_THRESHOLD_=16384
ENV MALLOC_TRIM_THRESHOLD_=131072
# The heap gets half of the container's memory, 128 MiB of 256: the other half is for the program
# itself, and for the buffers of requests and answers.
ENTRYPOINT ["/nodejs/bin/node", "--max-old-space-size-percentage=50", "--max-semi-space-size=4", "--no-allocation-site-pretenuring", "--disable-sigusr1", "/app/outrigger.cjs"]
CMD ["serve"]
