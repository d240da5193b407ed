-- compatible
-- One row: the incarnation of the log. A restore, and a promotion of a standby that lost events, begin another one,
-- because the log then gives the lost offsets to other events.
CREATE TABLE bus.incarnation (
    only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT incarnation_only_row_check CHECK (only_row),
    -- Random, so that two restores of one backup differ.
    id text NOT NULL DEFAULT substr(replace(gen_random_uuid()::text, '-', ''), 1, 12),
    -- Positions of the first incarnation do not name it.
    is_first boolean NOT NULL DEFAULT true,
    began_at timestamptz NOT NULL DEFAULT now(),
    -- The offsets, by partition, up to which all incarnations have the same events; empty in the first one.
    common_offsets bigint[] NOT NULL DEFAULT '{}',
    reason text NOT NULL
);
INSERT INTO bus.incarnation (reason) VALUES ('the log was created');
