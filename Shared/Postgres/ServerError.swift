/// The server's error about a statement (`PQresultErrorField`).
public struct ServerError: Error, Sendable, Equatable {
    /// The SQLSTATE: five characters, see appendix A of PostgreSQL's manual.
    public let sqlState: String
    /// `ERROR`, `FATAL` or `PANIC`, in English in every locale.
    public internal(set) var severity = "ERROR"
    /// The message, for operators only: it may contain values of the statement.
    public let message: String
    /// The detail, for operators only: it may contain values of the statement.
    public internal(set) var detail: String?
    public internal(set) var hint: String?
    public internal(set) var constraint: String?
    public internal(set) var schema: String?
    public internal(set) var table: String?
    public internal(set) var column: String?
    /// The index of the failed query in its pipeline, from 0; nil for scripts.
    public internal(set) var queryIndex: Int?
    /// The beginning of the failed statement with `$n` for its values; nil for scripts, which may contain values.
    public internal(set) var statement: String?
}

extension ServerError {
    /// The SQLSTATE classes (appendix A of PostgreSQL's manual) whose messages never contain a statement's data. They
    /// only contain limits and names of tables, roles and files. The classes are about connections, features,
    /// transactions, sessions, roles, the catalogue, names, resources, operators, the system, and the server itself.
    private static let wordyClasses: Set<String> = [
        "08", "0A", "25", "26", "28", "3D", "3F", "40", "42", "53", "55", "57", "58", "XX",
    ]

    /// PostgreSQL's message if it can't contain data. The message of a syntax error may quote the statement.
    var safeMessage: String? {
        Self.wordyClasses.contains(String(sqlState.prefix(2))) && sqlState != "42601" ? message : nil
    }

    /// Returns the beginning of a statement on one line.
    static func label(_ sql: String) -> String {
        let words = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return words.count > 100 ? words.prefix(100) + "…" : words
    }
}

/// `description` is for logs: it names the failed object and contains no data. `debugDescription` may contain values.
extension ServerError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        var text = "the database rejected a statement (SQLSTATE \(sqlState)"
        if let safeMessage { text += ": \(safeMessage)" }
        if let table { text += ", table \(schema.map { "\($0)." } ?? "")\(table)" }
        if let column { text += ", column \(column)" }
        if let constraint { text += ", constraint \(constraint)" }
        if let statement {
            text += ", statement: \(statement)"
        } else if let queryIndex {
            text += ", query \(queryIndex)"
        }
        return text + ")"
    }

    public var debugDescription: String {
        var text = "\(severity) \(sqlState): \(message)"
        if let detail { text += " DETAIL: \(detail)" }
        if let hint { text += " HINT: \(hint)" }
        if let schema, let table { text += " TABLE: \(schema).\(table)" }
        if let column { text += " COLUMN: \(column)" }
        if let constraint { text += " CONSTRAINT: \(constraint)" }
        if let queryIndex { text += " CALL: \(queryIndex)" }
        return text
    }
}
