import Records
import Timeline

/// The charts of a report as SVG. Colours are classes of the style sheet.
enum Charts {
    /// A bar with a part for each verdict.
    static func bar(_ parts: [(name: String, label: String, count: Int)]) -> String {
        let total = parts.reduce(0) { $0 + $1.count }
        guard total > 0 else { return "" }
        let width = 1000.0
        var x = 0.0
        var body = ""
        for part in parts where part.count > 0 {
            let share = width * Double(part.count) / Double(total)
            body += """
                <rect class="fill-\(part.name)" x="\(x.short)" y="0" width="\(max(share, 2).short)" height="8">\
                <title>\(part.label): \(part.count.grouped)</title></rect>
                """
            x += share
        }
        let label = parts.map { "\($0.label) \($0.count.grouped)" }.joined(separator: ", ")
        return svg(1000, 8, label, body, stretches: true)
    }

    /// A bar whose length is a part of its place, from 0 to 1.
    static func length(_ part: Double, of name: String) -> String {
        let width = (1000 * part).short
        return #"<svg viewBox="0 0 1000 5" preserveAspectRatio="none" class="length" aria-hidden="true">"#
            + #"<rect class="fill-\#(name)" x="0" y="0" width="\#(width)" height="5"/></svg>"#
    }

    /// The number of apps in each state, stacked over time.
    ///
    /// - Parameters:
    ///   - states: the states from the bottom to the top, each with the mean number of apps in each step.
    ///   - labels: the texts below the time axis, each with its place in steps.
    static func stack(_ states: [(name: String, counts: [Double])], labels: [(step: Double, text: String)]) -> String {
        let steps = states.map(\.counts.count).max() ?? 0
        let sums = (0..<steps).map { step in states.reduce(0.0) { $0 + $1.counts[step] } }
        guard let most = sums.max(), most > 0 else { return "" }
        let (left, width, height) = (44.0, 940.0, 200.0)
        func x(_ step: Int) -> Double { left + width * Double(step) / Double(steps) }
        func y(_ count: Double) -> Double { 10 + height * (1 - count / most) }
        var floor = Array(repeating: 0.0, count: steps)
        var body = grid(most, left: left, width: width, y: y)
        for state in states {
            let top = (0..<steps).map { floor[$0] + state.counts[$0] }
            var points = ""
            for step in 0..<steps {
                points += "\(x(step).short),\(y(top[step]).short) \(x(step + 1).short),\(y(top[step]).short) "
            }
            for step in (0..<steps).reversed() {
                points += "\(x(step + 1).short),\(y(floor[step]).short) \(x(step).short),\(y(floor[step]).short) "
            }
            body +=
                #"<polygon class="fill-\#(state.name.escaped)" points="\#(points.dropLast())"><title>\#(state.name.escaped)</title></polygon>"#
            floor = top
        }
        for label in labels {
            let x = (left + width * label.step / Double(steps)).short
            body += #"<text x="\#(x)" y="\#((height + 28).short)">\#(label.text)</text>"#
        }
        let names = states.map(\.name).joined(separator: ", ")
        return svg(1000, 244, "Apps by state over time: \(names)", body)
    }

    /// Two bars for each hour of a day.
    static func hours(_ openings: [Int], _ refreshes: [Int]) -> String {
        let most = Double(max(1, (openings + refreshes).max() ?? 1))
        let (left, width, height) = (44.0, 940.0, 140.0)
        func y(_ count: Double) -> Double { 10 + height * (1 - count / most) }
        var body = grid(most, left: left, width: width, y: y)
        for hour in 0..<24 {
            let start = left + width * Double(hour) / 24
            for (index, series) in [("openings", openings), ("refreshes", refreshes)].enumerated() {
                let count = hour < series.1.count ? series.1[hour] : 0
                let top = y(Double(count))
                body += """
                    <rect class="fill-\(series.0)" x="\((start + 4 + Double(index) * 16).short)" y="\(top.short)" \
                    width="14" height="\((10 + height - top).short)">\
                    <title>\(hour):00, \(series.0): \(count.grouped)</title></rect>
                    """
            }
            if hour.isMultiple(of: 3) { body += #"<text x="\#((start + 4).short)" y="168">\#(hour):00</text>"# }
        }
        return svg(1000, 176, "Openings and completed refreshes by hour", body)
    }

    private static func grid(_ most: Double, left: Double, width: Double, y: (Double) -> Double) -> String {
        [0, 0.5, 1].map { share in
            let height = y(most * share).short
            let value = most * share
            let text = value < 10 && value != value.rounded() ? value.short : Int(value.rounded()).grouped
            return """
                <line class="grid" x1="\(left.short)" x2="\((left + width).short)" y1="\(height)" y2="\(height)"/>\
                <text x="\((left - 6).short)" y="\(height)" text-anchor="end" dominant-baseline="middle">\(text)</text>
                """
        }.joined()
    }

    private static func svg(
        _ width: Int, _ height: Int, _ label: String, _ body: String, stretches: Bool = false
    ) -> String {
        let shape = stretches ? #" preserveAspectRatio="none" class="flat""# : ""
        return
            #"<svg viewBox="0 0 \#(width) \#(height)" role="img" aria-label="\#(label.escaped)"\#(shape)>\#(body)</svg>"#
    }
}

extension Double {
    /// The number with at most one decimal.
    var short: String {
        let tenths = Int((self * 10).rounded())
        return tenths.isMultiple(of: 10) ? String(tenths / 10) : "\(Double(tenths) / 10)"
    }
}

extension Int {
    /// The number with a comma between thousands.
    var grouped: String {
        var digits = String(magnitude)
        var index = digits.endIndex
        while let next = digits.index(index, offsetBy: -3, limitedBy: digits.startIndex), next > digits.startIndex {
            digits.insert(",", at: next)
            index = next
        }
        return self < 0 ? "-" + digits : digits
    }
}

extension String {
    /// The text for the content of an element or the value of an attribute.
    var escaped: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
