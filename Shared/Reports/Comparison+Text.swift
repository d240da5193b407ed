import Timeline

// The comparison as text for a terminal, and as CSV.
extension Comparison {
    /// The comparison as lines for a terminal: the sentences, then the figures that differ.
    ///
    /// - Parameter limit: the most figures.
    public func summary(limit: Int = 40) -> String {
        var lines = ["\(first) and \(second)"]
        let different = figures.filter { $0.first != $0.second }
        guard !different.isEmpty else { return lines[0] + ": all \(figures.count) figures are equal" }
        lines += sentences.map { "  \($0)" }
        let rows =
            [["", first, second, "difference"]]
            + different.prefix(limit).map { figure in
                [figure.title, figure.text(figure.first), figure.text(figure.second), figure.differenceText]
            }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        for row in rows {
            let cells = (0..<4).map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + space : space + row[column]
            }
            lines.append("  " + cells.joined(separator: "  "))
        }
        let rest = different.count - min(different.count, limit)
        if rest > 0 { lines.append("  and \(rest) smaller differences") }
        lines.append("  \(figures.count - different.count) of \(figures.count) figures are equal")
        return lines.joined(separator: "\n")
    }

    /// The figures as CSV (RFC 4180), the largest differences first.
    public var csv: String {
        var lines = ["figure,app,content,unit,first,second,difference"]
        for figure in figures {
            let values = [figure.first, figure.second, figure.difference].map { $0.map { "\($0)" } ?? "" }
            lines.append(
                ([figure.name, figure.app ?? "", figure.content ?? "", figure.unit.rawValue] + values)
                    .map(Report.field).joined(separator: ","))
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}

extension ComparedFigure {
    /// The name with the app and the content.
    var title: String {
        guard let app else { return name }
        return content.map { "\(app) \($0): \(name)" } ?? "\(app): \(name)"
    }

    /// Returns a value with its unit.
    func text(_ value: Double?) -> String {
        guard let value else { return "–" }
        switch unit {
        case .count: return Int(value.rounded()).grouped
        case .share: return "\((value * 100).short) %"
        case .seconds: return value < 0 ? "-" + Interval.seconds(-value).text : Interval.seconds(value).text
        case .bytes: return Self.bytes(value)
        case .joules: return "\(Int(value.rounded()).grouped) J"
        }
    }

    /// The difference with its sign and its unit, and its part of the first value.
    var differenceText: String {
        guard let difference else { return "–" }
        guard difference != 0 else { return "0" }
        let sign = difference > 0 ? "+" : ""
        guard unit != .share else { return "\(sign)\((difference * 100).short) points" }
        let percent = change.map { " (\(sign)\(($0 * 100).short) %)" } ?? ""
        return sign + text(difference) + percent
    }

    private static func bytes(_ value: Double) -> String {
        let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
        guard let unit = units.first(where: { abs(value) >= $0.0 }) else { return "\(Int(value)) bytes" }
        return "\((value / unit.0).short) \(unit.1)"
    }
}
