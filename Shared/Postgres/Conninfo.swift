import CLibpq

/// libpq's own parser of connection strings, so that everything libpq reads is read alike.
enum Conninfo {
    static func parse(_ text: String) throws(PostgresError) -> [String: String] {
        guard !text.utf8.contains(0) else { throw .invalidOptions(part: "url", reason: "holds a zero byte") }
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

    /// libpq quotes the piece that it could not read, which in a string with a password may be part of the password
    /// (`password=two words`). So its words are kept only for strings that cannot hold one.
    private static func fault(_ text: String, _ reason: String) -> PostgresError {
        let mayHoldSecret = text.contains("@") || text.lowercased().contains("pass")
        let line = reason.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        return .invalidOptions(
            part: "url",
            reason: mayHoldSecret
                ? "is not a connection string; write postgres://user@host:port/database and give the password apart"
                : line)
    }
}
