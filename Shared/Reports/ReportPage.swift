import Mustache
import OrderedCollections
import Records
import Timeline

/// A report as one HTML page without outside resources.
public struct ReportPage: Sendable {
    private let template: MustacheTemplate

    public init() throws {
        template = try MustacheTemplate(
            string: String(decoding: PackageResources.report_mustache, as: UTF8.self))
    }

    /// The style sheet: the content of the element `style` of each page.
    public static let style = String(decoding: PackageResources.report_css, as: UTF8.self)

    /// Returns the page of a report.
    public func html(_ report: Report) -> String { template.render(report.context) }
}

/// The verdicts on a push, each with a colour and a shape.
enum Verdict: String, CaseIterable {
    case inTime, late, never, refused

    var word: String { self == .inTime ? "in time" : rawValue }

    var mark: String {
        switch self {
        case .inTime: "●"
        case .late: "◆"
        case .never: "✕"
        case .refused: "⊘"
        }
    }

    var members: [String: Any] { ["class": rawValue, "mark": mark, "word": word, "verdict": word] }
}

extension Report {
    fileprivate var context: [String: Any] {
        var context: [String: Any] = [
            "style": ReportPage.style,
            "name": name, "complete": complete, "endReason": endReason ?? "", "until": clock.minute(until),
            "zone": clock.sentence,
            "devices": "\(devices.grouped) \(devices == 1 ? "device" : "devices")",
            "range": "\(clock.minute(begin)) to \(clock.minute(until))", "events": "\(events.grouped) events",
            "expectations": expectations.map { item in
                [
                    "class": item.met ? "good" : "bad", "mark": item.met ? "✓" : "✕",
                    "word": item.met ? "Met" : "Not met", "text": item.text,
                ]
            },
            "violations": violations, "ignoredFaults": ignoredFaults, "lateAfter": lateAfter.text,
            "verdicts": Verdict.allCases.map(\.members), "apps": apps.map(\.context),
            "openings": openingsByHour.reduce(0, +).grouped, "refreshes": refreshesByHour.reduce(0, +).grouped,
            "hoursChart": Charts.hours(openingsByHour, refreshesByHour),
            "statesChart": states.chart(from: begin, until: until, clock), "stateNames": Array(states.seconds.keys),
            "step": Interval.seconds(Double(states.stepSeconds)).text, "costs": costs,
        ]
        let rows = apps.flatMap { app in app.pushes.map { (app.id, $0) } }
        let reasons = self.reasons
        context["hasPushes"] = !rows.isEmpty
        context["rows"] = rows.map { app, row in row.context(of: app, reasons) }
        context["notes"] = rows.compactMap { app, row in row.note(of: app) }
        context["hasReasons"] = !reasons.isEmpty
        context["groups"] = OrderedDictionary(grouping: reasons, by: \.group).map { group, reasons in
            ["group": group, "reasons": reasons.map { $0.context(self) }] as [String: Any]
        }
        context["hasHistories"] = !pushes.isEmpty
        context["histories"] = pushes.enumerated().map { $1.context(isOpen: $0 == 0, clock) }
        context["seed"] = seed
        context["sha256"] = sha256
        context["source"] = origin.word
        context["command"] = origin.command
        return context
    }

    private var clock: LocalClock { LocalClock(zone: timeZone, offsets: offsets) }

    /// A reason for pushes that are not in time.
    fileprivate struct Reason {
        var verdict: Verdict
        var why: String
        var app: String
        var content: String
        var count: Int

        /// The fragment of its address.
        var id: String { ["reason", verdict.rawValue, app, content, why].joined(separator: "-").fragment }
        /// The fragment of all reasons for its verdict on the pushes of its app with its content.
        var group: String { ["reasons", verdict.rawValue, app, content].joined(separator: "-").fragment }
    }

    fileprivate var reasons: [Reason] {
        apps.flatMap { app in
            app.pushes.flatMap { row in
                func reasons(_ verdict: Verdict, _ counts: [(String, Int)]) -> [Reason] {
                    counts.filter { $0.1 > 0 }.map { why, count in
                        Reason(verdict: verdict, why: why, app: app.id, content: row.content, count: count)
                    }
                }
                return reasons(.late, row.lateReasons.map { ($0.key, $0.value) })
                    + reasons(.never, row.never.map { ($0.key, $0.value) })
                    + reasons(.refused, row.refused.map { ($0.key, $0.value) })
            }
        }
    }

    private var costs: [[String: Any]] {
        var costs = bytes.map { ["name": "Bytes over \($0.key)", "value": $0.value.grouped] }
        costs.append([
            "name": "Energy of refreshes and tasks", "value": "\((refreshAndTaskMillijoules / 1000).grouped) J",
        ])
        costs += refusedCalls.map { ["name": "Refused calls, \($0.key)", "value": $0.value.grouped] }
        return costs
    }
}

extension ReportOrigin {
    /// The word of a sentence.
    fileprivate var word: String { rawValue }

    /// The command that writes the figures as files; nil for a report of `ops`.
    fileprivate var command: String? {
        switch self {
        case .simulation: "fleet simulate FILE --report DIR"
        case .run: "fleet run --scenario FILE --report DIR"
        case .log: nil
        }
    }
}

extension Report.Reason {
    fileprivate func context(_ report: Report) -> [String: Any] {
        let examples = report.pushes.filter { push in
            push.app == app && push.content == content && push.verdict == verdict.rawValue && push.why == why
        }
        let links = examples.enumerated().map { ["id": $1.id, "label": "\($0 + 1)"] }
        return verdict.members.merging(
            [
                "id": id, "key": "\(app)|\(content)|\(verdict.rawValue)|\(why)", "why": why, "app": app,
                "content": content, "count": count.grouped, "examples": links,
            ]
        ) { $1 }
    }
}

extension PushReport {
    fileprivate func context(of app: String, _ reasons: [Report.Reason]) -> [String: Any] {
        let lost = never.values.reduce(0, +)
        let refused = refused.values.reduce(0, +)
        var context: [String: Any] = [
            "key": "\(app)|\(content)", "app": app, "content": content, "sent": sent.grouped, "inTime": inTime.grouped,
            "late": late.grouped, "never": lost.grouped, "refused": refused.grouped,
            "p50": delaySeconds["p50"].text, "p90": delaySeconds["p90"].text, "p99": delaySeconds["p99"].text,
            "longest": delaySeconds["p100"].text,
            "bar": Charts.bar(
                zip(Verdict.allCases, [inTime, late, lost, refused]).map { ($0.rawValue, $0.word, $1) }),
        ]
        for (name, verdict) in [("lateLink", Verdict.late), ("neverLink", .never)] {
            let reason = reasons.first { $0.app == app && $0.content == content && $0.verdict == verdict }
            context[name] = reason.map { "#" + $0.group }
        }
        return context
    }

    /// A sentence about what is not in the table.
    fileprivate func note(of app: String) -> String? {
        var parts: [String] = []
        if withoutToken > 0 {
            parts.append("\(withoutToken.grouped) not sent, because the device had no token yet")
        }
        if doubled > 0 { parts.append("\(doubled.grouped) copies of pushes, added by a fault") }
        return parts.isEmpty ? nil : "\(app), \(content): \(parts.joined(separator: "; "))."
    }
}

extension PushHistory {
    /// The fragment of its address.
    fileprivate var id: String { "push-\(notification)".fragment }

    fileprivate func context(isOpen: Bool, _ clock: LocalClock) -> [String: Any] {
        let verdict = Verdict(rawValue: verdict) ?? .never
        let delay = arrivedAt.map { ($0 - sentAt).text }
        var context: [String: Any] = [
            "id": id, "open": isOpen, "app": app, "content": content, "device": device, "sentAt": clock.element(sentAt),
            "notification": notification, "summary": delay.map { "\(why), after \($0)" } ?? why,
            "steps": steps.map { step in
                var context: [String: Any] = ["at": clock.element(step.at), "status": step.status]
                context["cause"] = step.cause
                context["limit"] = step.until.map(clock.element)
                context["explanations"] = step.reasons.map { reason in
                    ["at": clock.element(reason.at), "word": reason.reason.word, "event": reason.event]
                }
                return context
            },
            "end": delay.map { "Arrived, \($0) after it was sent" } ?? "Did not arrive: \(why)",
        ]
        context["endAt"] = clock.element(arrivedAt ?? steps.last?.at ?? sentAt)
        return context.merging(verdict.members) { $1 }
    }
}

extension PushReasonKind {
    /// The kind in words.
    fileprivate var word: String {
        switch self {
        case .appEnd: "End of the app"
        case .budget: "Paid from the silent budget"
        case .conditions: "Conditions of the device"
        case .disconnection: "End of the connection"
        case .refusal: "Refusal of the wake"
        case .replacement: "Newer push"
        case .settings: "Settings of the app"
        case .wait: "Wait"
        }
    }
}

extension AppReport {
    fileprivate var context: [String: Any] {
        func list(_ counts: OrderedDictionary<String, Int>) -> String {
            counts.isEmpty ? "none" : counts.map { "\($0.value.grouped) \($0.key)" }.joined(separator: ", ")
        }
        return [
            "id": id, "age50": contentAgeSeconds["p50"].text, "age90": contentAgeSeconds["p90"].text,
            "refreshes": refreshes.grouped, "refresh90": refreshSeconds["p90"].text,
            "transfers": "\(transfersCompleted.grouped) of \(transfersStarted.grouped)",
            "transfer90": transferSeconds["p90"].text, "wakes": list(wakes), "wakesRefused": list(wakesRefused),
            "kills": list(kills),
            "crashes": crashes.grouped,
        ]
    }
}

extension StateHistory {
    /// The most labels of the time axis.
    private static let mostLabels: Int64 = 10

    /// The chart, with labels at local midnights, or at every third hour of at most two days.
    fileprivate func chart(from begin: Instant, until end: Instant, _ clock: LocalClock) -> String {
        let steps = seconds.values.map(\.count).max() ?? 0
        guard stepSeconds > 0, steps > 0 else { return "" }
        let days = (end - begin).milliseconds / Interval.days(1).milliseconds
        let showsDays = end - begin > .days(2)
        let length: Interval = showsDays ? .days(days / Self.mostLabels + 1) : .hours(days > 0 ? 6 : 3)
        let labels = clock.marks(each: length, from: begin, until: end).map { mark in
            let text = clock.minute(mark)
            return ((mark - begin).seconds / Double(stepSeconds), String(showsDays ? text.prefix(10) : text.suffix(5)))
        }
        let counts = seconds.map { name, seconds in (name, seconds.map { Double($0) / Double(stepSeconds) }) }
        return Charts.stack(counts, labels: labels)
    }
}

extension String {
    /// The text as the fragment of an address: letters, digits and hyphens.
    fileprivate var fragment: String {
        String(map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }
}

extension Interval? {
    fileprivate var text: String { map(\.text) ?? "–" }
}

extension Interval {
    /// The duration in its two largest units.
    var text: String {
        if self < .seconds(60) { return "\(seconds.short) s" }
        let total = Int(seconds.rounded())
        let parts = [(total / 86_400, "d"), (total / 3600 % 24, "h"), (total / 60 % 60, "min"), (total % 60, "s")]
        let first = parts.firstIndex { $0.0 > 0 } ?? 3
        return parts[first...].prefix(2).filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: " ")
    }
}
