import Contracts
import Records
import Timeline

/// A notification and its outcome.
enum PushVerdict: String, WireEnum {
    /// It arrived in time.
    case inTime
    /// It arrived after the accepted delay.
    case late
    /// It ended without an arrival.
    case never
    /// It is stored, held or under way.
    case pending
    /// APNs refused it.
    case refused
}

/// A push that a provider sent, and what became of it.
struct PushRow: Record {
    /// The `apns-id`.
    var apnsID: Nullable<String> = nil
    var app: Nullable<String> = nil
    /// When the device showed an alert or handed it to `willPresent`, the handler of a silent notification started, or the
    /// device acknowledged any other.
    var arrivedAt: Nullable<Instant> = nil
    /// The cause of the outcome: the refusal of the wake, the end of the app, or the newer notification.
    var cause: Nullable<String> = nil
    /// The broadcast channel.
    var channel: Nullable<String> = nil
    var collapseID: Nullable<String> = nil
    /// The time from sending to arrival, in seconds.
    var delay: Nullable<Interval> = nil
    /// When it was first sent to the device.
    var deliveredAt: Nullable<Instant> = nil
    var device = ""
    /// The id of the event with the outcome.
    var event = ""
    var expiration: Nullable<Instant> = nil
    /// The fleet of the device at the sending.
    var fleet: Nullable<String> = nil
    /// The `apns-unique-id`.
    var notification = ""
    /// The status with which it arrived or ended; the latest status while it is pending.
    var outcome = ""
    var priority = 10
    var sentAt = Instant.epoch
    /// When the device first showed it.
    var shownAt: Nullable<Instant> = nil
    /// `silent`, or the push type.
    var type = ""
    var verdict = PushVerdict.pending
    /// The reason of the verdict: the wait of a late one, the end of one that never arrived, or the latest status.
    var why: Nullable<String> = nil
    /// When its app was first woken for it.
    var wokeAt: Nullable<Instant> = nil
}

extension PushRow {
    /// The columns of the CSV, which are those of the view `ops.pushes`.
    static let csvHead = csvRow([
        "sent_at", "fleet", "device", "app", "notification", "type", "priority", "collapse_id", "channel", "apns_id",
        "expiration", "delivered_at", "woke_at", "arrived_at", "shown_at", "delay", "outcome", "cause", "verdict",
        "why",
        "event",
    ])

    /// The row of the CSV.
    var csv: String {
        let times = [expiration, deliveredAt, wokeAt, arrivedAt, shownAt].map { $0?.description ?? "" }
        return csvRow(
            [
                sentAt.description, fleet ?? "", device, app ?? "", notification, type, "\(priority)", collapseID ?? "",
                channel ?? "", apnsID ?? "",
            ] + times + [
                delay.map { "\($0.seconds)" } ?? "", outcome, cause ?? "", verdict.rawValue, why ?? "", event,
            ])
    }
}

/// The media type of a page of pushes.
enum PushForm: String, ListForm {
    /// `{"items":[…],"next":…}`
    case json = "application/json"
    /// RFC 4180, with a header line.
    case csv = "text/csv"
}
