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
    reason text NOT NULL
);
-- The incarnations that this log had before.
CREATE TABLE bus.former_incarnations (
    -- Empty for the first one: tokens and positions do not name it.
    id text PRIMARY KEY,
    -- The heads, by partition, when it ended in this log. Up to there it has the same events.
    heads bigint[] NOT NULL
);
-- The generations of the tokens of fleets when an incarnation ended.
CREATE TABLE bus.former_fleet_generations (
    incarnation text NOT NULL,
    fleet text NOT NULL,
    generation bigint NOT NULL,
    CONSTRAINT former_fleet_generations_pkey PRIMARY KEY (fleet, incarnation)
);
INSERT INTO bus.incarnation (reason) VALUES ('the log was created');
