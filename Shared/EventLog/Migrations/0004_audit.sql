-- compatible
-- The audit trail: who did what, to what, when and from where. Roles can only add rows. The upkeep deletes old ones. No
-- column holds a secret, a token or a payload.
CREATE TABLE bus.audit (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Real time by the database's clock, in whole milliseconds as in documents.
    at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
    -- A role can't set this column, so a service writes only in its own name.
    service text NOT NULL DEFAULT regexp_replace(current_user::text, '^.*_', ''),
    actor_kind text NOT NULL,
    -- The name of an operator's key, a device, or a fleet. Null if unknown.
    actor text,
    -- The address of the client as the service sees it. Null for a command line.
    address text,
    action text NOT NULL,
    subject text,
    -- The number of equal actions that the row stands for.
    count bigint NOT NULL DEFAULT 1 CONSTRAINT audit_count_check CHECK (count > 0),
    details jsonb NOT NULL DEFAULT '{}'
        CONSTRAINT audit_details_check CHECK (jsonb_typeof(details) = 'object' AND octet_length(details::text) <= 4096),
    CONSTRAINT audit_pkey PRIMARY KEY (at, id)
);
CREATE INDEX audit_action_at_id_idx ON bus.audit (action, at, id);
-- Refused credentials have no actor and no subject. They may be most of the rows.
CREATE INDEX audit_actor_at_id_idx ON bus.audit (actor, at, id) WHERE actor IS NOT NULL;
CREATE INDEX audit_subject_at_id_idx ON bus.audit (subject, at, id) WHERE subject IS NOT NULL;

ALTER TABLE bus.audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_read ON bus.audit FOR SELECT USING (right(current_user, 4) = '_ops');
CREATE POLICY audit_append ON bus.audit FOR INSERT WITH CHECK (right(current_user, length(service) + 1) = '_' || service);
