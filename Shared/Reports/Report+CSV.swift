import OrderedCollections

// The pushes as CSV.
extension Report {
    /// The pushes as CSV (RFC 4180): a row for each app, content, verdict and reason.
    public var pushesCSV: String {
        var lines = ["app,content,verdict,why,count"]
        for app in apps {
            for row in app.pushes {
                func add(_ verdict: String, _ why: String, _ count: Int) {
                    if count > 0 { lines.append("\(app.id),\(row.content),\(verdict),\(Self.field(why)),\(count)") }
                }
                add("in time", "", row.inTime)
                for (why, count) in row.lateReasons { add("late", why, count) }
                for (why, count) in row.never { add("never", why, count) }
                for (why, count) in row.refused { add("refused", why, count) }
                add("not sent", "No token", row.withoutToken)
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    static func field(_ text: String) -> String {
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
