import CLibpq

/// A parser of connection strings: libpq's own, so that the results are the same.
enum Conninfo {
    static func parse(_ text: String) throws(PostgresError) -> [String: String] {
        guard !text.utf8.contains(0) else { throw .invalidOptions(part: "url", reason: "contains a zero byte") }
        var message: UnsafeMutablePointer<CChar>?
        guard let first = PQconninfoParse(text, &message) else {
            let reason = message.map { String(cString: $0) } ?? "out of memory"
            PQfreemem(message)
            throw fault(text, reason)
        }
        defer { PQconninfoFree(first) }
        var values: [String: String] = [:]
        var option = first
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }

    /// Returns the error for an invalid string. libpq's message may quote a part of a password (`password=two words`),
    /// so it is used only for strings that can't contain one.
    private static func fault(_ text: String, _ reason: String) -> PostgresError {
        let mayHoldSecret = text.contains("@") || text.lowercased().contains("pass")
        let line = reason.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        return .invalidOptions(
            part: "url",
            reason: mayHoldSecret
                ? "is not a connection string; use postgres://user@host:port/database and set the password separately"
                : line)
    }
}
