import Records
import Scenarios
import Timeline

// The report as JSON, CSV and lines of text.
extension SimulationReport {
    /// The report as a JSON document with sorted members.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.member("apps") { $0.array(zip(apps, figures.apps)) { write($1.0, $1.1, to: &$0) } }
            json.member("begin") { begin.write(to: &$0) }
            json.member("bytes") { $0.write(figures.bytes) }
            json.member("complete") { $0.write(isComplete) }
            json.member("devices") { $0.write(devices) }
            json.member("refreshAndTaskMillijoules") { $0.write(figures.energy) }
            json.member("events") { $0.write(events) }
            json.member("expectations") {
                $0.array(expectations) { json, outcome in
                    json.object { json in
                        json.member("met") { $0.write(outcome.isMet) }
                        json.member("text") { $0.write(outcome.text) }
                    }
                }
            }
            json.member("ignoredFaults") { $0.array(ignoredFaults) { $0.write($1) } }
            json.member("name") { $0.write(name) }
            json.member("openingsByHour") { $0.array(figures.openings) { $0.write($1) } }
            json.member("refreshesByHour") { $0.array(figures.refreshesByHour) { $0.write($1) } }
            json.member("refusedCalls") { $0.write(figures.refusedCalls) }
            json.member("seed") { $0.write(String(seed)) }
            json.member("sha256") { $0.write(digest) }
            json.member("until") { until.write(to: &$0) }
            json.member("violations") { $0.array(violations) { $0.write($1.description) } }
        }
        return writer.bytes
    }

    private func write(_ name: String, _ app: AppFigures, to json: inout JSONWriter) {
        json.object { json in
            json.member("contentAgeSeconds") { $0.write(app.contentAges) }
            json.member("crashes") { $0.write(app.crashes) }
            json.member("id") { $0.write(name) }
            json.member("kills") { $0.write(app.kills) }
            json.member("pushes") {
                $0.array(app.rows) { json, row in
                    let pushes = row.figures
                    let late = pushes.delays.count { $0 > lateAfter }
                    json.object { json in
                        json.member("content") { $0.write(row.content.rawValue) }
                        json.member("delaySeconds") { $0.write(pushes.delays) }
                        json.member("delivered") { $0.write(pushes.delivered) }
                        json.member("doubled") { $0.write(pushes.doubled) }
                        json.member("inTime") { $0.write(pushes.delays.count - late) }
                        json.member("late") { $0.write(late) }
                        json.member("never") { $0.write(pushes.never) }
                        json.member("refused") { $0.write(pushes.refused) }
                        json.member("sent") { $0.write(pushes.sent) }
                        json.member("withoutToken") { $0.write(pushes.withoutToken) }
                    }
                }
            }
            json.member("refreshSeconds") { $0.write(app.refreshes) }
            json.member("refreshes") { $0.write(app.refreshes.count) }
            json.member("transferSeconds") { $0.write(app.transfers) }
            json.member("transfersCompleted") { $0.write(app.transfers.count) }
            json.member("transfersStarted") { $0.write(app.transfersStarted) }
            json.member("wakesRefused") { $0.write(app.wakesRefused) }
        }
    }

    /// The pushes as CSV (RFC 4180): a row for each app, content, verdict and reason.
    public var csv: String {
        var lines = ["app,content,verdict,why,count"]
        for (name, app) in zip(apps, figures.apps) {
            for (content, pushes) in app.rows {
                let late = pushes.delays.count { $0 > lateAfter }
                func add(_ verdict: String, _ why: String, _ count: Int) {
                    if count > 0 { lines.append("\(name),\(content.rawValue),\(verdict),\(why),\(count)") }
                }
                add("in time", "", pushes.delays.count - late)
                add("late", "", late)
                for (why, count) in pushes.never.sorted(by: { $0.key < $1.key }) { add("never", why, count) }
                for (why, count) in pushes.refused.sorted(by: { $0.key < $1.key }) { add("refused", why, count) }
                add("not sent", "No token", pushes.withoutToken)
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// The report as lines for a terminal.
    public var summary: String {
        var lines = ["\(name): \(devices) devices, \(TimeSpan(until - begin))\(isComplete ? "" : ", stopped early")"]
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
        for fault in ignoredFaults { lines.append("  the fault \(fault) has no effect in a simulation") }
        for outcome in expectations { lines.append("  \(outcome.isMet ? "met" : "NOT MET")  \(outcome.text)") }
        for violation in violations.prefix(10) { lines.append("  \(violation)") }
        lines.append("  \(events) events, SHA-256 \(digest)")
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

extension JSONWriter {
    fileprivate mutating func write(_ counts: [String: Int]) {
        object { json in
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) { json.member(name) { $0.write(count) } }
        }
    }

    /// Writes the percentiles of durations in seconds.
    fileprivate mutating func write(_ durations: [Interval]) {
        let sorted = durations.sorted()
        object { json in
            for percent in [50, 90, 95, 99, 100] {
                guard let value = sorted.percentile(percent) else { continue }
                json.member("p\(percent)") { value.write(to: &$0) }
            }
        }
    }
}
