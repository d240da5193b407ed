/// What the server said when it refused a statement (`PQresultErrorField`).
public struct ServerError: Error, Sendable, Equatable {
    /// Five characters, see appendix A of PostgreSQL's manual.
    public let sqlState: String
    /// `ERROR`, `FATAL` or `PANIC`, never translated.
    public let severity: String
    /// May hold values of the statement: for operators only.
    public let message: String
    /// May hold values of the statement: for operators only.
    public let detail: String?
    public let hint: String?
    public let constraint: String?
    public let schema: String?
    public let table: String?
    public let column: String?
    /// Which call of the flight failed, counted from 0; nil for scripts.
    public let callIndex: Int?

    public init(
        sqlState: String, severity: String = "ERROR", message: String, detail: String? = nil, hint: String? = nil,
        constraint: String? = nil, schema: String? = nil, table: String? = nil, column: String? = nil,
        callIndex: Int? = nil
    ) {
        self.sqlState = sqlState
        self.severity = severity
        self.message = message
        self.detail = detail
        self.hint = hint
        self.constraint = constraint
        self.schema = schema
        self.table = table
        self.column = column
        self.callIndex = callIndex
    }
}

extension ServerError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        var text = "the database refused a statement (SQLSTATE \(sqlState)"
        if let constraint { text += ", constraint \(constraint)" }
        if let callIndex { text += ", call \(callIndex)" }
        return text + ")"
    }

    public var debugDescription: String {
        var text = "\(severity) \(sqlState): \(message)"
        if let detail { text += " DETAIL: \(detail)" }
        if let hint { text += " HINT: \(hint)" }
        if let schema, let table { text += " TABLE: \(schema).\(table)" }
        if let column { text += " COLUMN: \(column)" }
        if let constraint { text += " CONSTRAINT: \(constraint)" }
        if let callIndex { text += " CALL: \(callIndex)" }
        return text
    }
}
