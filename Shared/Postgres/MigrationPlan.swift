/// Compares the migrations of the program with those in the database. Pure.
struct MigrationPlan {
    struct Applied: Equatable {
        let number: Int
        let name: String
        let checksum: String
        var isCompatible = false
    }

    let pending: [Migration]

    init(schema: String, migrations: [Migration], applied: [Applied]) throws(PostgresError) {
        let files = migrations.sorted { $0.number < $1.number }
        for (index, file) in files.enumerated() where file.number != index + 1 {
            throw .migration(.gap(schema: schema, expected: index + 1, found: file.number))
        }
        let rows = applied.sorted { $0.number < $1.number }
        // An applied file keeps its name for ever. So another name is not an edit, but another history of the schema.
        for row in rows {
            guard files.indices.contains(row.number - 1) else { continue }
            guard files[row.number - 1].name == row.name else { throw .migration(.earlierLayout(schema: schema)) }
        }
        if let newest = rows.last, newest.number > files.count {
            throw .migration(.databaseNewer(schema: schema, database: newest.number, code: files.count))
        }
        for (index, row) in rows.enumerated() {
            guard row.number == index + 1 else {
                throw .migration(.missingInDatabase(schema: schema, number: index + 1))
            }
            let file = files[index]
            guard file.checksum == row.checksum else {
                throw .migration(.changed(schema: schema, number: file.number, name: file.name))
            }
        }
        pending = Array(files.dropFirst(rows.count))
    }
}
