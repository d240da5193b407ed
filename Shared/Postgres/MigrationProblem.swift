/// The reason why a schema can't be migrated, and what to do about it.
public enum MigrationProblem: Error, Sendable, Equatable {
    /// A file name does not have the form `0001_words.sql`.
    case badName(String)
    /// The numbers of the files have a gap or a duplicate, or do not start at 1.
    case gap(schema: String, expected: Int, found: Int)
    /// A file was edited after it was applied.
    case changed(schema: String, number: Int, name: String)
    /// An applied migration has another name than this program's migration with the same number: the database comes
    /// from before the migrations were squashed.
    case earlierLayout(schema: String)
    /// The database has migrations that this program does not know.
    case databaseNewer(schema: String, database: Int, code: Int)
    /// The database lacks migrations of this program, listed by number and name.
    case pending(schema: String, [String])
    /// The role may not read the list of applied migrations.
    case unreadable(schema: String)
    /// The database lacks a migration that is older than others that it has.
    case missingInDatabase(schema: String, number: Int)
    /// A `{{variable}}` in a file has no value.
    case unknownVariable(schema: String, number: Int, variable: String)
    /// The statements of a file failed; its transaction was rolled back.
    case failed(schema: String, number: Int, name: String, ServerError)
}

extension MigrationProblem: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        switch self {
        case .badName(let name): "migration file \(name) has an invalid name; rename it like 0001_words.sql"
        case .gap(let schema, let expected, let found):
            "schema \(schema): migration \(expected) is missing before \(found); number the files 1, 2, 3 …"
        case .changed(let schema, let number, let name):
            "schema \(schema): migration \(number) (\(name)) was edited after it was applied; restore the file and put "
                + "the change into a new one"
        case .earlierLayout(let schema):
            "schema \(schema): an earlier development version of Dormouse created the database, and this version can't "
                + "read its tables; create an empty database, or remove the data folder of ./deploy/up (.dormouse), and "
                + "run `migrate` again"
        case .databaseNewer(let schema, let database, let code):
            "schema \(schema): the database is at migration \(database), this program knows \(code); run a newer program"
        case .pending(let schema, let names):
            "schema \(schema): the database lacks \(names.joined(separator: ", ")); run the service's `migrate` command first"
        case .unreadable(let schema):
            "schema \(schema): the service's role may not read the migrations table; run the service's `migrate` command first"
        case .missingInDatabase(let schema, let number):
            "schema \(schema): the database lacks the record of migration \(number); restore its migrations table"
        case .unknownVariable(let schema, let number, let variable):
            "schema \(schema): migration \(number) uses {{\(variable)}}, which has no value; pass it to the migrator"
        case .failed(let schema, let number, let name, let error):
            "schema \(schema): migration \(number) (\(name)) failed and was rolled back: SQLSTATE \(error.sqlState)"
        }
    }

    public var debugDescription: String {
        switch self {
        case .failed(_, _, _, let error): "\(description) [\(error.debugDescription)]"
        case .badName, .gap, .changed, .earlierLayout, .databaseNewer, .pending, .unreadable, .missingInDatabase,
            .unknownVariable:
            description
        }
    }
}
