import Postgres

extension LogSchema {
    /// The migrations of the schema. A file that was applied never changes: a change gets a new number.
    static func migrations() throws(PostgresError) -> [Migration] {
        let files: [(name: String, bytes: [UInt8])] = [
            ("0001_bus.sql", PackageResources._001_bus_sql),
            ("0002_clock.sql", PackageResources._002_clock_sql),
            ("0003_retention.sql", PackageResources._003_retention_sql),
            ("0004_readers.sql", PackageResources._004_readers_sql),
            ("0005_kept.sql", PackageResources._005_kept_sql),
            ("0006_state_versions.sql", PackageResources._006_state_versions_sql),
            ("0007_stalls.sql", PackageResources._007_stalls_sql),
            ("0008_member_versions.sql", PackageResources._008_member_versions_sql),
        ]
        return try files.map { file throws(PostgresError) in
            try Migration(fileName: file.name, sql: String(decoding: file.bytes, as: UTF8.self))
        }
    }
}
