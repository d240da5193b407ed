# The development container: Swift, and the packages that `deploy/test` would install.

FROM swift:6.3.1-bookworm
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        aria2 ca-certificates chromium curl libpq-dev openssl pkg-config postgresql prometheus python3 python3-venv wget \
    && rm -rf /var/lib/apt/lists/*
