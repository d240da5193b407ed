-- compatible
-- Deletes the uploads of a device whose history is erased. The sweep removes their files.
CREATE FUNCTION transfer.erase_device(erased_partition integer, erased_key text, up_to bigint, requested_at timestamptz)
RETURNS void LANGUAGE sql SET search_path = pg_catalog AS $$
    UPDATE transfer.uploads AS u
    SET epoch = u.epoch + 1, is_deleted = true, is_erased = true, expires_at = least(u.expires_at, now()),
        metadata = NULL, concatenation = NULL, content_type = NULL
    WHERE u.owner = erased_key AND u.created_at <= requested_at
$$;
REVOKE ALL ON FUNCTION transfer.erase_device(integer, text, bigint, timestamptz) FROM PUBLIC;
