import Foundation

/// The processor time of a command over the number of devices, and over the number of events, as SVG.
enum GrowthPlot {
    private static let (left, top, width, height) = (60.0, 30.0, 300.0, 200.0)

    static func svg(_ costs: [GrowthCost]) -> String {
        let most = (costs.map(\.total).max() ?? 1) * 1.15
        let devices = costs.filter { $0.size.events == 0 }
        let events = costs.filter { $0.size.events > 0 }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 290" font-family="sans-serif" font-size="12">
            <rect width="760" height="290" fill="#ffffff"/>
            \(chart(devices.map { ($0.size.devices, $0.total) }, "devices", at: left, most))
            \(chart(events.map { ($0.size.events, $0.total) }, "events in the log, 1,000 devices", at: left + 380, most))
            </svg>

            """
    }

    private static func chart(
        _ points: [(count: Int, cost: Double)], _ name: String, at left: Double, _ most: Double
    ) -> String {
        let exponents = points.map { log10(Double($0.count)) }
        let (first, last) = (exponents.min() ?? 0, exponents.max() ?? 1)
        func x(_ exponent: Double) -> Double { left + 20 + (width - 60) * (exponent - first) / max(1, last - first) }
        func y(_ cost: Double) -> Double { top + height * (1 - cost / most) }
        var text = """
            <text x="\(left)" y="18" fill="#333">µs of processor time of a command</text>
            <text x="\(left + width / 2)" y="\(top + height + 42)" fill="#333" text-anchor="middle">\(name)</text>
            <path d="M\(left) \(top) V\(top + height) H\(left + width)" fill="none" stroke="#888"/>

            """
        for tick in stride(from: 0.0, to: most, by: 200) {
            text += """
                <path d="M\(left) \(short(y(tick))) H\(left + width)" stroke="#eee"/>
                <text x="\(left - 6)" y="\(short(y(tick) + 4))" fill="#555" text-anchor="end">\(Int(tick))</text>

                """
        }
        let line = zip(exponents, points).map { "\(short(x($0))),\(short(y($1.cost)))" }.joined(separator: " ")
        text += "<polyline points=\"\(line)\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\"/>\n"
        for (exponent, point) in zip(exponents, points) {
            let place = (x: short(x(exponent)), y: y(point.cost))
            text += """
                <circle cx="\(place.x)" cy="\(short(place.y))" r="4" fill="#2563eb"/>
                <text x="\(place.x)" y="\(short(place.y - 10))" fill="#333" text-anchor="middle">\(Int(point.cost))</text>
                <text x="\(place.x)" y="\(top + height + 20)" fill="#555" text-anchor="middle">\(point.count.formatted(.number.locale(Locale(identifier: "en_US"))))</text>

                """
        }
        return text
    }

    private static func short(_ value: Double) -> String { String(format: "%.1f", value) }
}
