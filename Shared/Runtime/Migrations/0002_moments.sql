-- The moments that aggregates of a machine with a ceiling hold, in pages of a bitmap; {{service}} is its schema.
CREATE TABLE "{{service}}".moments (
    partition integer NOT NULL,
    -- How many moments a second the suite had: another ceiling has other moments.
    ceiling integer NOT NULL,
    page bigint NOT NULL,
    -- When the page is over, by the suite's clock, milliseconds since 1970.
    ends bigint NOT NULL,
    taken bytea NOT NULL,
    CONSTRAINT moments_one PRIMARY KEY (partition, ceiling, page)
) WITH (fillfactor = 70);
