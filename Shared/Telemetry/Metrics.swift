import Synchronization

/// A metric: its name, help text and kind. `MetricNames.swift` has those of every service.
public struct Metric: Sendable, Hashable {
    /// The type in Prometheus.
    public enum Kind: Sendable, Hashable {
        case counter
        case gauge
        /// The upper bounds of the buckets, ascending, without infinity.
        case histogram([Double])
    }

    public let name: String
    public let help: String
    public let kind: Kind

    /// Creates a metric.
    public init(_ name: String, _ help: String, _ kind: Kind) {
        self.name = name
        self.help = help
        self.kind = kind
    }

    // The name is unique, and a comparison of the rest would be slow.
    public static func == (one: Metric, other: Metric) -> Bool { one.name == other.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The metric values of a process, with output in Prometheus's text format (version 0.0.4).
public final class Metrics: Sendable {
    /// Names and values of labels, always in the same order for a metric.
    public typealias Labels = KeyValuePairs<String, String>

    private let series = Mutex<[Metric: [String: MetricSeries]]>([:])
    private let readings = Mutex<[@Sendable (Metrics) -> Void]>([])

    /// Creates metrics without values.
    public init() {}

    /// Adds a function that sets gauges before each output, so that they have the values of that moment.
    public func beforeOutput(_ set: @escaping @Sendable (Metrics) -> Void) { readings.withLock { $0.append(set) } }

    /// Adds to a counter or a gauge.
    public func add(_ amount: Double = 1, to metric: Metric, _ labels: Labels = [:]) {
        series(of: metric, labels).add(amount)
    }

    /// Sets a gauge.
    public func set(_ metric: Metric, to value: Double, _ labels: Labels = [:]) {
        series(of: metric, labels).set(value)
    }

    /// Records an observation in a histogram.
    public func observe(_ value: Double, in metric: Metric, _ labels: Labels = [:]) {
        series(of: metric, labels).observe(value)
    }

    /// Returns the series of a metric with these labels. Code that runs often keeps it, because the look-up builds text.
    public func series(of metric: Metric, _ labels: Labels = [:]) -> MetricSeries {
        var key = ""
        for (name, value) in labels {
            if !key.isEmpty { key += "," }
            key += name
            key += "=\""
            key += Self.escaped(value)
            key += "\""
        }
        return series.withLock { all in
            if let known = all[metric]?[key] { return known }
            let new = MetricSeries(metric.kind)
            all[metric, default: [:]][key] = new
            return new
        }
    }

    /// All values in Prometheus's text format, sorted by name and labels.
    public var text: String {
        for set in readings.withLock({ $0 }) { set(self) }
        let all = series.withLock { $0 }
        var lines: [String] = []
        for (metric, rows) in all.sorted(by: { $0.key.name < $1.key.name }) {
            lines.append("# HELP \(metric.name) \(metric.help)")
            switch metric.kind {
            case .counter: lines.append("# TYPE \(metric.name) counter")
            case .gauge: lines.append("# TYPE \(metric.name) gauge")
            case .histogram: lines.append("# TYPE \(metric.name) histogram")
            }
            for (labels, sample) in rows.sorted(by: { $0.key < $1.key }) {
                lines.append(contentsOf: Self.lines(metric, labels, sample.current))
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func lines(_ metric: Metric, _ labels: String, _ sample: MetricSeries.Sample) -> [String] {
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        guard case .histogram(let bounds) = metric.kind else {
            return ["\(metric.name)\(braces) \(number(sample.value))"]
        }
        let prefix = labels.isEmpty ? "" : labels + ","
        var sum = 0
        var lines: [String] = []
        for (bound, count) in zip(bounds, sample.buckets) {
            sum += count
            lines.append("\(metric.name)_bucket{\(prefix)le=\"\(number(bound))\"} \(sum)")
        }
        lines.append("\(metric.name)_bucket{\(prefix)le=\"+Inf\"} \(sample.count)")
        lines.append("\(metric.name)_sum\(braces) \(number(sample.value))")
        lines.append("\(metric.name)_count\(braces) \(sample.count)")
        return lines
    }

    private static func number(_ value: Double) -> String { Int(exactly: value).map(String.init) ?? value.description }

    private static func escaped(_ text: String) -> String {
        // A fast path: this runs several times a request, and values seldom need escapes.
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") || $0 == 10 }) else {
            return text
        }
        return escapedAnew(text)
    }

    private static func escapedAnew(_ text: String) -> String {
        text.flatMap { character -> String in
            switch character {
            case "\\": #"\\"#
            case "\"": #"\""#
            case "\n": #"\n"#
            default: String(character)
            }
        }.map(String.init).joined()
    }
}
