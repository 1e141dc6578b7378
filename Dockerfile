# syntax=docker/dockerfile:1
# One binary on a base without a shell, as an unprivileged user.

FROM denoland/deno:debian-2.9.6 AS build
WORKDIR /src
# Dependencies first: this layer changes only with them.
COPY deno.json deno.lock ./
RUN deno install --frozen
COPY main.ts ./
COPY lib ./lib
COPY crds ./crds
COPY tools ./tools
RUN deno task build --image

# The compiled program needs glibc, so "cc" and not "static" (and not Alpine's musl).
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/dist/foo-operator /foo-operator
# 65532, as a number: runAsNonRoot can't check a name.
USER 65532:65532
ENTRYPOINT ["/foo-operator"]
CMD ["run"]
