import Postgres

extension LogSchema {
    /// The migrations of the schema. A file that was applied never changes: a change gets a new number.
    static func migrations() throws(PostgresError) -> [Migration] {
        [
            try Migration(fileName: "0001_event_log.sql", utf8: PackageResources._001_event_log_sql),
            try Migration(fileName: "0002_order_streams.sql", utf8: PackageResources._002_order_streams_sql),
            try Migration(fileName: "0003_incarnation.sql", utf8: PackageResources._003_incarnation_sql),
            try Migration(fileName: "0004_audit.sql", utf8: PackageResources._004_audit_sql),
            try Migration(fileName: "0005_erasures.sql", utf8: PackageResources._005_erasures_sql),
        ]
    }
}
