#!/bin/bash
# Creates the owner, the database and the extension on the workers of Citus, and adds them to the coordinator. The arguments
# are the names of the workers. The coordinator is `postgres`, whose database exists.
set -euo pipefail

# run NODE DATABASE: runs the SQL on standard input as superuser.
run() { psql -X -q -At -v ON_ERROR_STOP=1 --host="$1" --username=postgres --dbname="$2" >/dev/null; }

for worker in "$@"; do
    run "$worker" postgres <<'SQL'
SET client_min_messages = warning;
SELECT 'CREATE ROLE dormouse' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'dormouse') \gexec
ALTER ROLE dormouse LOGIN CREATEROLE;
GRANT pg_read_all_stats, pg_signal_backend TO dormouse;
SELECT 'CREATE DATABASE dormouse OWNER dormouse'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'dormouse') \gexec
SQL
    run "$worker" dormouse <<<'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS citus'
done

PGPASSWORD=$(</run/secrets/database-superuser)
export PGPASSWORD
{
    printf "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS citus;\n"
    printf "SELECT citus_set_coordinator_host('postgres', 5432);\n"
    for worker in "$@"; do printf "SELECT citus_add_node('%s', 5432);\n" "$worker"; done
} | run postgres dormouse
