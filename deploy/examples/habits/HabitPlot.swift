/// A picture of simulations. Each app has a panel over the 24 hours of a day, with fetches upward and openings downward
/// on one scale.
struct HabitPlot {
    private let panels: [Panel]
    private let caption: String

    struct Panel {
        var name: String
        var words: String
        var summary: HabitSummary
    }

    init(_ outcomes: [HabitOutcome]) {
        panels = outcomes.flatMap { outcome in
            outcome.apps.map { Panel(name: $0.app.name, words: $0.app.habit.words, summary: outcome.summary($0)) }
        }
        caption = HabitTable.caption(outcomes)
    }

    // Lengths in user units of the picture.
    private static let width = 760
    private static let left = 48
    private static let hour = 28
    private static let bar = 18
    private static let head = 84
    private static let panel = 254
    private static let plot = 160
    private static let foot = 40

    /// The picture as SVG. The same outcomes give the same bytes.
    var svg: String {
        let height = Self.head + panels.count * Self.panel + Self.foot
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(height)" \
            width="\(Self.width)" height="\(height)" role="img" aria-labelledby="title description">
            """,
            "<title id=\"title\">\(Self.title)</title>",
            "<desc id=\"description\">\(description)</desc>",
            Self.style,
            "<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"\(Self.width - 1)\" height=\"\(height - 1)\" rx=\"8\"/>",
            "<text class=\"title\" x=\"24\" y=\"36\">\(Self.title)</text>",
            "<rect class=\"fetch\" x=\"24\" y=\"51\" width=\"12\" height=\"12\" rx=\"2\"/>",
            "<text x=\"42\" y=\"62\">fetches a day in this hour</text>",
            "<rect class=\"opening\" x=\"248\" y=\"51\" width=\"12\" height=\"12\" rx=\"2\"/>",
            "<text x=\"266\" y=\"62\">openings a day in this hour</text>",
        ]
        for (index, panel) in panels.enumerated() { lines += draw(panel, top: Self.head + index * Self.panel) }
        lines.append("<text class=\"quiet\" x=\"24\" y=\"\(height - 20)\">\(Self.escaped(caption))</text>")
        lines.append("</svg>")
        return lines.joined(separator: "\n") + "\n"
    }

    private static let title = "Background fetches and app openings by hour of day"

    private static let style = """
        <style>
        text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
        .title { font-size: 17px; font-weight: 600 }
        .name { font-size: 14px; font-weight: 600 }
        .quiet { font-size: 12px; fill: #59636e }
        .page { fill: #ffffff; stroke: #d1d9e0 }
        .grid { stroke: #e4e8ec }
        .axis { stroke: #818b98 }
        .fetch { fill: #0969da }
        .opening { fill: #d4690e }
        @media (prefers-color-scheme: dark) {
        text { fill: #f0f6fc }
        .quiet { fill: #9198a1 }
        .page { fill: #0d1117; stroke: #3d444d }
        .grid { stroke: #262c36 }
        .axis { stroke: #656c76 }
        .fetch { fill: #4493f8 }
        .opening { fill: #f0883e }
        }
        </style>
        """

    private var description: String {
        let sentences = panels.map { panel in
            "\(panel.name), opens at \(panel.words): \(Self.numbers(panel.summary))."
        }
        return Self.escaped((sentences + [caption]).joined(separator: " "))
    }

    private static func numbers(_ summary: HabitSummary) -> String {
        "\(summary.refreshesDaily) fetches a day, \(summary.newDataShare) with new data; "
            + "mean content age at opening: \(summary.contentAgeWords)"
    }

    private func draw(_ panel: Panel, top: Int) -> [String] {
        let summary = panel.summary
        let up = ceiling { $0.refreshesByHour }
        let down = ceiling { $0.openingsByHour }
        // The length of one event a day, in tenths of a unit.
        let scale = Self.plot * 10 / (up + down)
        let zero = top + 48 + up * scale / 10
        let right = Self.left + 24 * Self.hour
        var lines = [
            "<text class=\"name\" x=\"24\" y=\"\(top + 14)\">\(Self.escaped(panel.name)): "
                + "opens at \(Self.escaped(Self.shortened(panel.words)))</text>",
            "<text class=\"quiet\" x=\"24\" y=\"\(top + 32)\">\(Self.numbers(summary))</text>",
        ]
        let step = max(1, (up + down + 3) / 4)
        for value in stride(from: -(down / step) * step, through: up, by: step) {
            let y = zero - value * scale / 10
            let kind = value == 0 ? "axis" : "grid"
            lines.append("<path class=\"\(kind)\" d=\"M\(Self.left) \(y)H\(right)\"/>")
            lines.append(
                "<text class=\"quiet\" text-anchor=\"end\" x=\"\(Self.left - 8)\" y=\"\(y + 4)\">\(abs(value))</text>")
        }
        for hour in 0..<24 {
            lines += bar("fetch", "fetches", hour, summary.refreshesByHour[hour], summary, scale, zero)
            lines += bar("opening", "openings", hour, summary.openingsByHour[hour], summary, -scale, zero)
        }
        for hour in stride(from: 0, through: 24, by: 3) {
            let x = Self.left + hour * Self.hour
            lines.append(
                "<text class=\"quiet\" text-anchor=\"middle\" x=\"\(x)\" y=\"\(top + Self.plot + 68)\">"
                    + "\(TimeOfDay.twoDigits(hour)):00</text>")
        }
        return lines
    }

    /// Returns the top of the scale, which all panels share.
    private func ceiling(_ counts: (HabitSummary) -> [Int]) -> Int {
        panels.map { panel in ((counts(panel.summary).max() ?? 0) + panel.summary.days - 1) / panel.summary.days }
            .reduce(1, max)
    }

    /// - Parameter scale: The length of one event a day; negative for bars that point down.
    private func bar(
        _ kind: String, _ what: String, _ hour: Int, _ count: Int, _ summary: HabitSummary, _ scale: Int, _ zero: Int
    ) -> [String] {
        guard count > 0 else { return [] }
        let height = max(1, count * abs(scale) / 10 / summary.days)
        let x = Self.left + hour * Self.hour + (Self.hour - Self.bar) / 2
        let y = scale > 0 ? zero - height : zero
        let span = "\(TimeOfDay.twoDigits(hour)):00 to \(TimeOfDay.twoDigits(hour + 1)):00"
        return [
            "<rect class=\"\(kind)\" x=\"\(x)\" y=\"\(y)\" width=\"\(Self.bar)\" height=\"\(height)\" rx=\"2\">"
                + "<title>\(span): \(summary.daily(count)) \(what) a day</title></rect>"
        ]
    }

    /// Shortens a text to one line. The description has the full text.
    private static func shortened(_ words: String) -> String { words.count > 72 ? words.prefix(70) + " …" : words }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
    }
}
