-- compatible
-- The version of its machine that each member runs. New states are written in the background only where every member can read
-- them, so that an update can be taken back.
ALTER TABLE bus.members ADD COLUMN machine_version integer NOT NULL DEFAULT 0;
