import OrderedCollections
import Timeline

/// The differences of two reports as sentences, with their causes.
struct Differences {
    /// The most causes in a sentence.
    private static let mostCauses = 3
    /// A smaller part of a figure is no difference.
    private static let leastChange = 0.005

    private let names: (first: String, second: String)
    private let first: Report
    private let second: Report

    init(_ first: (name: String, report: Report), _ second: (name: String, report: Report)) {
        names = (first.name, second.name)
        (self.first, self.second) = (first.report, second.report)
    }

    /// Those about pushes first, then those about refreshes and ends of apps. Within them, the largest change comes first.
    var sentences: [String] {
        var found: [(rank: Int, change: Double, text: String)] = []
        for app in ComparedFigure.names(first.apps.map(\.id), second.apps.map(\.id)) {
            guard let one = first.apps.first(where: { $0.id == app }),
                let other = second.apps.first(where: { $0.id == app })
            else {
                let owner = first.apps.contains { $0.id == app } ? names.first : names.second
                found.append((0, 1, "Only \(owner) has the app \(app)."))
                continue
            }
            for content in ComparedFigure.names(one.pushes.map(\.content), other.pushes.map(\.content)) {
                found += pushes(of: app, content, one, other)
            }
            found += ages(of: app, one, other)
            found += ends(of: app, one, other)
        }
        found += costs()
        return found.enumerated().sorted { one, next in
            (one.element.rank, -one.element.change, one.offset) < (next.element.rank, -next.element.change, next.offset)
        }.map(\.element.text)
    }

    // MARK: Pushes

    private func pushes(
        of app: String, _ content: String, _ first: AppReport, _ second: AppReport
    ) -> [(rank: Int, change: Double, text: String)] {
        let one = first.pushes.first { $0.content == content } ?? PushReport()
        let other = second.pushes.first { $0.content == content } ?? PushReport()
        let object = "\(Self.words(for: content)) of \(app)"
        var found: [(rank: Int, change: Double, text: String)] = []
        if let text = arrivals(object, Self.verb(for: content), one, other) {
            found.append((0, abs(Self.change(one.arrived, other.arrived)), text))
        }
        // Fewer late pushes can be pushes that do not arrive any more.
        if abs(Self.change(one.late, other.late)) > Self.leastChange {
            let more = other.late > one.late
            let causes = Self.causes(Self.differences(one.lateReasons, other.lateReasons), more: more)
            found.append(
                (
                    1, abs(Self.change(one.late, other.late)),
                    "\(names.second) has \(Self.amount(one.late, other.late)) late \(object) "
                        + "(\(other.late.grouped) instead of \(one.late.grouped))\(causes)."
                ))
        }
        return found
    }

    private func arrivals(_ object: String, _ verb: String, _ one: PushReport, _ other: PushReport) -> String? {
        guard abs(Self.change(one.arrived, other.arrived)) > Self.leastChange else { return nil }
        let more = other.arrived > one.arrived
        var reasons = Self.differences(one.never, other.never)
        reasons.merge(Self.differences(one.refused, other.refused), uniquingKeysWith: +)
        if other.sent != one.sent { reasons["sent"] = one.sent - other.sent }
        // Fewer arrive because more ended otherwise, or because fewer were sent.
        let causes = Self.causes(reasons, more: !more)
        return "\(names.second) \(verb) \(Self.amount(one.arrived, other.arrived)) \(object) "
            + "(\(other.arrived.grouped) of \(other.sent.grouped) instead of \(one.arrived.grouped) of "
            + "\(one.sent.grouped))\(causes)."
    }

    private static func words(for content: String) -> String {
        switch content {
        case "alert": "alerts"
        case "silent": "silent pushes"
        case "alertWithContent": "alerts with content"
        default: "\(content) pushes"
        }
    }

    private static func verb(for content: String) -> String { content.hasPrefix("alert") ? "shows" : "hands over" }

    // MARK: Apps

    private func ages(
        of app: String, _ one: AppReport, _ other: AppReport
    ) -> [(rank: Int, change: Double, text: String)] {
        guard let before = one.contentAgeSeconds["p90"], let after = other.contentAgeSeconds["p90"],
            abs(Self.change(before.seconds, after.seconds)) > Self.leastChange
        else { return [] }
        let older = after > before
        let gap = older ? after - before : before - after
        var reasons = Self.differences(["completed refreshes": other.refreshes], ["completed refreshes": one.refreshes])
        for (reason, count) in Self.differences(one.wakesRefused, other.wakesRefused) {
            reasons["wakes refused for \(reason)"] = count
        }
        return [
            (
                2, abs(Self.change(before.seconds, after.seconds)),
                "With \(names.second), the content of \(app) is \(gap.text) \(older ? "older" : "newer") at its openings "
                    + "(p90 \(after.text) instead of \(before.text))\(Self.causes(reasons, more: older))."
            )
        ]
    }

    private func ends(
        of app: String, _ one: AppReport, _ other: AppReport
    ) -> [(rank: Int, change: Double, text: String)] {
        let (before, after) = (one.kills.values.reduce(0, +), other.kills.values.reduce(0, +))
        guard before != after else { return [] }
        let causes = Self.causes(Self.differences(one.kills, other.kills), more: after > before)
        return [
            (
                3, abs(Self.change(before, after)),
                "\(names.second) ends \(app) \(abs(after - before).grouped) times \(after > before ? "more" : "fewer") "
                    + "(\(after.grouped) instead of \(before.grouped))\(causes)."
            )
        ]
    }

    private func costs() -> [(rank: Int, change: Double, text: String)] {
        let (before, after) = (first.refreshAndTaskMillijoules, second.refreshAndTaskMillijoules)
        guard before > 0, abs(Self.change(before, after)) > Self.leastChange else { return [] }
        return [
            (
                4, abs(Self.change(before, after)),
                "Refreshes and tasks use \(Self.amount(before, after)) energy with \(names.second) "
                    + "(\((after / 1000).grouped) J instead of \((before / 1000).grouped) J)."
            )
        ]
    }

    // MARK: Words

    /// Returns a change as a part of the greater value, from -1 to 1.
    private static func change(_ before: Int, _ after: Int) -> Double { change(Double(before), Double(after)) }

    private static func change(_ before: Double, _ after: Double) -> Double {
        let greater = max(abs(before), abs(after))
        return greater == 0 ? 0 : (after - before) / greater
    }

    /// Returns `7 % fewer`, or a number where a percentage says little.
    private static func amount(_ before: Int, _ after: Int) -> String {
        let word = after > before ? "more" : "fewer"
        guard before >= 20 else { return "\(abs(after - before).grouped) \(word)" }
        let percent = Double(abs(after - before)) / Double(before) * 100
        let text = percent < 10 ? percent.short : Int(percent.rounded()).grouped
        return "\(text) % \(word)"
    }

    private static func differences(
        _ before: OrderedDictionary<String, Int>, _ after: OrderedDictionary<String, Int>
    ) -> OrderedDictionary<String, Int> {
        var differences: OrderedDictionary<String, Int> = [:]
        for name in ComparedFigure.names(Array(before.keys), Array(after.keys)) {
            let difference = (after[name] ?? 0) - (before[name] ?? 0)
            if difference != 0 { differences[name] = difference }
        }
        return differences
    }

    /// Returns the reasons whose numbers explain a difference.
    ///
    /// - Parameter more: whether greater numbers explain it.
    private static func causes(_ reasons: OrderedDictionary<String, Int>, more: Bool) -> String {
        let fitting = reasons.filter { ($0.value > 0) == more }.sorted { abs($0.value) > abs($1.value) }
        guard !fitting.isEmpty else { return "" }
        let texts = fitting.prefix(mostCauses).map { reason, count in
            let isOfWork = reason == "sent" || reason == "completed refreshes"
            let sign = isOfWork ? count < 0 : count > 0
            return "\(abs(count).grouped) \(sign ? "more" : "fewer") \(isOfWork ? reason : "“\(reason)”")"
        }
        return ", because of " + texts.joined(separator: ", ")
    }
}
