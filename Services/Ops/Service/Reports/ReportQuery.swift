import HTTPKit
import Hummingbird
import Records
import Timeline

/// The query of `/v1/reports`. It reports all invalid parameters, not only the first.
struct ReportQuery {
    /// The range without `from`.
    static let usualRange = Interval.days(1)
    static let longestRange = Interval.days(3660)
    static let parameters: [RouteParameter] = [
        .moment("from", "The begin of the range; a day before `to` by default"),
        .moment("to", "The end of the range; now by default, and at the latest"),
        .text("fleet", "Only devices of this fleet"), PushQuery.lateAfter,
        RouteParameter(
            "format", in: .query, "The form of the report; `Accept` selects it by default", ReportForm.Name.schema),
    ]

    let from: Instant
    /// The first time after the range.
    let to: Instant
    let fleet: String?
    let lateAfter: Interval
    let form: ReportForm

    /// - Parameter now: the suite time.
    init(_ call: Call, now: Instant) throws(Problem) {
        var query = QueryReader(call)
        query.refuseRepeats()
        let from = query.instant("from")
        let to = query.instant("to")
        fleet = query.identifier("fleet")
        lateAfter = .seconds(Int64(query.number("lateAfter") ?? PushQuery.usualDelay))
        let names = ReportForm.Name.allCases.map(\.rawValue).joined(separator: ", ")
        let name = query.value("format", "must be one of \(names)") { ReportForm.Name(rawValue: $0) }
        self.to = min(to ?? now, now)
        self.from = from ?? self.to - Self.usualRange
        if self.from >= self.to {
            query.refuse(to == nil ? "from" : "to", to == nil ? "must be before now" : "must be after from")
        } else if self.to - self.from > Self.longestRange {
            query.refuse("from", "must be at most \(Int(Self.longestRange.seconds / 86_400)) days before to")
        }
        try query.finish()
        if let name { form = name.form } else { form = try ReportForm(call.request) }
    }
}

/// The media type of a report.
enum ReportForm: String, ListForm {
    case json = "application/json"
    /// One page without outside resources.
    case html = "text/html"
    /// The pushes by app, content, verdict and reason (RFC 4180).
    case csv = "text/csv"

    /// The value of the parameter `format`.
    enum Name: String, WireEnum {
        case html, json, csv

        var form: ReportForm {
            switch self {
            case .html: .html
            case .json: .json
            case .csv: .csv
            }
        }
    }
}
