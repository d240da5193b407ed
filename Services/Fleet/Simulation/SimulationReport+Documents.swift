import Contracts
import OrderedCollections
public import Reports
import Scenarios
import Timeline

// The report as a document and as lines of text.
extension SimulationReport {
    /// The report as a document.
    public var document: Report {
        var report = Report()
        report.apps = zip(apps, figures.apps).map { $1.document(of: $0, lateAfter: lateAfter) }
        report.begin = begin
        report.bytes = OrderedDictionary(sorting: figures.bytes)
        report.complete = isComplete
        report.devices = devices
        report.endReason = endReason
        report.events = events
        report.expectations = expectations.map { ExpectationReport($0.text, met: $0.isMet) }
        report.ignoredFaults = ignoredFaults
        report.lateAfter = lateAfter
        report.name = name
        report.offsets = offsets
        report.openingsByHour = figures.openings
        report.origin = origin
        report.pushes = figures.apps.flatMap { $0.rows.flatMap(\.figures.worst.all) }
        report.readings = documentedRules.map(\.rawValue)
        report.refreshAndTaskMillijoules = figures.energy
        report.refreshesByHour = figures.refreshesByHour
        report.refusedCalls = OrderedDictionary(sorting: figures.refusedCalls)
        report.seed = String(seed)
        report.sha256 = digest.isEmpty ? nil : digest
        report.states = figures.states.history
        report.timeZone = timeZone
        report.until = until
        report.violations = violations.map(\.description)
        return report
    }

    /// The report as lines for a terminal.
    public var summary: String {
        let time = TimeSpan(.seconds((until - begin).milliseconds / 1000))
        var lines = ["\(name): \(devices) devices, \(time)\(isComplete ? "" : ", not complete")"]
        if let endReason { lines.append("  \(endReason)") }
        for (name, app) in zip(apps, figures.apps) {
            for (content, pushes) in app.rows {
                let late = pushes.delays.count { $0 > lateAfter }
                let delays = pushes.delays.sorted()
                let percentiles = [50, 90, 99].compactMap { percent in
                    delays.percentile(percent).map { "p\(percent) \($0.seconds) s" }
                }
                let other = [(pushes.withoutToken, "without a token"), (pushes.doubled, "doubled")]
                    .filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
                lines.append(
                    "  \(name) \(content.rawValue): \(pushes.sent) sent\(other), \(delays.count - late) in time, \(late) late; "
                        + (["never: \(list(pushes.never))", "refused: \(list(pushes.refused))"] + percentiles)
                        .joined(separator: "; "))
            }
            lines.append(
                "  \(name): \(app.refreshes.count) refreshes, \(app.transfers.count)/\(app.transfersStarted) transfers; "
                    + "refused wakes: \(list(app.wakesRefused)); kills: \(list(app.kills)); "
                    + "crashes: \(app.crashes)")
        }
        lines.append("  bytes: \(list(figures.bytes)); energy of refreshes and tasks: \(figures.energy) mJ")
        if !figures.refusedCalls.isEmpty { lines.append("  refused calls: \(list(figures.refusedCalls))") }
        for rule in documentedRules { lines.append("  the rule \(rule.rawValue) is as in the source documents") }
        for fault in ignoredFaults { lines.append("  the fault \(fault) has no effect in this run") }
        for outcome in expectations { lines.append("  \(outcome.isMet ? "met" : "NOT MET")  \(outcome.text)") }
        for violation in violations.prefix(10) { lines.append("  \(violation)") }
        if !isGood { lines.append("  --seed \(seed) repeats it") }
        lines.append("  \(events) events" + (digest.isEmpty ? "" : ", SHA-256 \(digest)"))
        return lines.joined(separator: "\n")
    }

    /// The speed of the simulation as a line of text.
    public func speed(in elapsed: Duration, cores: Int) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = Int(Double(events) / max(seconds, 0.001) / Double(cores))
        return "  \(Double(Int(seconds * 10)) / 10) s, \(rate) events a second and core, "
            + "\(Int(eventsPerDeviceAndDay)) events a device and day"
    }

    private func list(_ counts: [String: Int]) -> String {
        counts.isEmpty
            ? "none" : counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
}

extension AppFigures {
    /// The figures of each kind of content that was sent, in a fixed order.
    fileprivate var rows: [(content: Send.Content, figures: PushFigures)] {
        Send.Content.allCases.compactMap { content in contents[content].map { (content, $0) } }
    }
}

extension AppFigures {
    fileprivate func document(of app: String, lateAfter: Interval) -> AppReport {
        var report = AppReport()
        report.contentAgeSeconds = contentAges.percentiles
        report.crashes = crashes
        report.id = app
        report.kills = OrderedDictionary(sorting: kills)
        report.pushes = rows.map { content, figures in figures.document(of: content, lateAfter: lateAfter) }
        report.refreshSeconds = refreshes.percentiles
        report.refreshes = refreshes.count
        report.transferSeconds = transfers.percentiles
        report.transfersCompleted = transfers.count
        report.transfersStarted = transfersStarted
        report.wakes = OrderedDictionary(sorting: wakes)
        report.wakesRefused = OrderedDictionary(sorting: wakesRefused)
        return report
    }
}

extension PushFigures {
    fileprivate func document(of content: Send.Content, lateAfter: Interval) -> PushReport {
        var report = PushReport()
        report.content = content.rawValue
        report.delayCounts = [DelayCount](delays)
        report.delaySeconds = delays.percentiles
        report.delivered = delivered
        report.doubled = doubled
        report.late = delays.count { $0 > lateAfter }
        report.lateReasons = OrderedDictionary(sorting: late)
        report.inTime = delays.count - report.late
        report.never = OrderedDictionary(sorting: never)
        report.refused = OrderedDictionary(sorting: refused)
        report.sent = sent
        report.withoutToken = withoutToken
        return report
    }
}
