#!/bin/bash
# Creates the database and its owner in a new cluster. The image of PostgreSQL runs this script once, on an empty volume.
# Another run gives the owner the password that its secret has now.
# The owner creates the roles of the services, and ends sessions that block the log. It is not a superuser.
set -euo pipefail
as_superuser() {
    PGOPTIONS="-c client_min_messages=warning -c password_encryption=scram-sha-256 ${PGOPTIONS:-}" \
        setsid -w psql -X -q -v ON_ERROR_STOP=1 --username=postgres --dbname=postgres "$@"
}
as_superuser <<'SQL'
SELECT 'CREATE ROLE dormouse' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'dormouse') \gexec
ALTER ROLE dormouse LOGIN CREATEROLE;
GRANT pg_read_all_stats, pg_signal_backend TO dormouse;
SQL
# Without a terminal (setsid), psql reads the password twice from its standard input. It sends a SCRAM verifier to the
# server, so no log has the password. Arguments are visible to every process.
password=$(</run/secrets/database-owner)
if ! answer=$(printf '%s\n%s\n' "$password" "$password" | as_superuser --command '\password dormouse' 2>&1); then
    printf 'error: cannot set the password of the role dormouse: %s\n' "$answer" >&2
    exit 1
fi
as_superuser <<'SQL'
SELECT 'CREATE DATABASE dormouse OWNER dormouse'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'dormouse') \gexec
SQL
