import Postgres

extension LogSchema {
    /// The migrations of the schema. A file that was applied never changes: a change gets a new number.
    static func migrations() throws(PostgresError) -> [Migration] {
        let files: [(name: String, bytes: [UInt8])] = [
            ("0001_event_log.sql", PackageResources._001_event_log_sql)
        ]
        return try files.map { file throws(PostgresError) in
            try Migration(fileName: file.name, sql: String(decoding: file.bytes, as: UTF8.self))
        }
    }
}
