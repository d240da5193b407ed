#!/bin/bash
# Creates the database and its owner in a new cluster. The image of PostgreSQL runs this script once, on an empty volume.
# The owner creates the roles of the services, and ends sessions that block the log. It is not a superuser.
set -euo pipefail
# Standard input hides the password; arguments are visible to every process.
psql -X -q -v ON_ERROR_STOP=1 --username=postgres --dbname=postgres <<SQL
SET log_statement = 'none';
CREATE ROLE dormouse LOGIN CREATEROLE PASSWORD '$(</run/secrets/database-owner)';
GRANT pg_read_all_stats, pg_signal_backend TO dormouse;
CREATE DATABASE dormouse OWNER dormouse;
SQL
