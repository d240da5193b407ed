import Postgres

/// All SQL of the service: its own tables, and its searches of states and of the log.
struct TransferStore: Sendable {
    let pool: ConnectionPool
    let partitions: Int
    let contents: SharedReads<String, StoredContent>

    init(pool: ConnectionPool, partitions: Int) {
        (self.pool, self.partitions) = (pool, partitions)
        contents = SharedReads { try await Self.contents(at: $0, pool, partitions: partitions) }
    }

    static func migrations() throws -> [Migration] {
        [
            try Migration(fileName: "0002_transfer.sql", utf8: PackageResources._002_transfer_sql),
            try Migration(fileName: "0003_request_headers.sql", utf8: PackageResources._003_request_headers_sql),
            try Migration(fileName: "0004_erasures.sql", utf8: PackageResources._004_erasures_sql),
        ]
    }
}
