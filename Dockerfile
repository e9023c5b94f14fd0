# Danlu in a container: the platform and the tasks it runs as processes, in one place.
# See docs/admin.md, "In a container".
ARG BASE=debian:12-slim

FROM ${BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        ca-certificates make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/danlu
COPY . .
RUN make .venv/.run web && rm -rf web/node_modules

FROM ${BASE}
# What tasks commonly need; images of one's own begin with FROM this one.
RUN apt-get update && apt-get install -y --no-install-recommends \
        bash ca-certificates git python3 python3-venv procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /opt/danlu/.venv/bin/danlu /usr/local/bin/danlu
COPY --from=build /opt/danlu /opt/danlu
VOLUME /var/lib/danlu
EXPOSE 8080
# tini collects processes that outlive their parents.
ENTRYPOINT ["tini", "--", "danlu"]
CMD ["up", "--host", "0.0.0.0", "--port", "8080", "--data", "/var/lib/danlu"]
