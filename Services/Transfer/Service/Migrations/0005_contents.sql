-- SHA-512 is reckoned when somebody asks for it: reckoned beforehand it cost more than all else of a file's reception.
ALTER TABLE transfer.contents DROP COLUMN sha512;

-- The sweep asks which of the files on disk some path names.
CREATE INDEX contents_file ON transfer.contents (file);
