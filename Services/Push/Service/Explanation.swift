import Contracts
import Foundation
import Machines
import OrderedCollections
import PushMachine
import Records
import Timeline

/// Why notifications of an app fare as they do now.
struct Explanation: Record {
    struct Budget: Record {
        var capacity = 0
        var left = 0
        /// When a spent budget has something again; nil where it has.
        var nextReleaseAt: Instant?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("capacity", &capacity)
            fields.field("left", &left)
            fields.field("nextReleaseAt", &nextReleaseAt)
        }
    }

    /// What would happen to a push that came now.
    struct Forecast: Record {
        var alert: ConsoleStatus?
        var alertByPower: ConsoleStatus?
        var background: ConsoleStatus?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("alert", &alert)
            fields.field("alertByPower", &alertByPower)
            fields.field("background", &background)
        }
    }

    var app = ""
    var registered = false
    var online = false
    var powerFriendly = false
    var lowPowerMode = false
    var throttled = true
    var foreground = false
    var wakes = false
    var notifications = Switch.on
    var budget = Budget()
    var forecast = Forecast()

    init() {}

    /// - Parameter aggregate: of a device on which the app is installed.
    init(_ app: String, _ record: PushedApp, _ aggregate: Aggregate<PushMachine>, at now: Instant, _ policy: PushPolicy)
    {
        let state = aggregate.state
        self.app = app
        registered = record.registration != nil
        online = state.isOnline
        powerFriendly = state.isPowerFriendly
        lowPowerMode = state.conditions.lowPowerMode
        throttled = state.isThrottled
        foreground = record.foreground
        wakes = record.wakes
        notifications = record.notifications
        budget.capacity = Int(policy.silentBurst)
        budget.left = record.budget.left(at: now, policy)
        budget.nextReleaseAt = budget.left > 0 ? nil : record.budget.available(policy)
        forecast.alert = Self.try(record, app, aggregate, now, policy, priority: 10, ["alert": "?"])
        forecast.alertByPower = Self.try(record, app, aggregate, now, policy, priority: 5, ["alert": "?"])
        forecast.background = Self.try(record, app, aggregate, now, policy, priority: 5, ["content-available": 1])
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("budget", &budget)
        fields.field("forecast", &forecast)
        fields.field("foreground", &foreground)
        fields.field("lowPowerMode", &lowPowerMode)
        fields.field("notifications", &notifications)
        fields.field("online", &online)
        fields.field("powerFriendly", &powerFriendly)
        fields.field("registered", &registered)
        fields.field("throttled", &throttled)
        fields.field("wakes", &wakes)
    }

    /// Decides about a push on a copy of the state: what it says is what would happen.
    private static func `try`(
        _ record: PushedApp, _ app: String, _ aggregate: Aggregate<PushMachine>, _ now: Instant, _ policy: PushPolicy,
        priority: Int, _ aps: JSON
    ) -> ConsoleStatus? {
        guard let registration = record.registration else { return nil }
        let push = IncomingPush(
            token: registration.token, app: app, topic: app, pushType: .alert, environment: registration.environment,
            apnsID: "", notification: "forecast", priority: priority, collapseID: nil, expiration: nil,
            neverStored: false, payload: ["aps": aps])
        var copy = aggregate
        var moments = MomentLedger(ceiling: nil)
        guard (try? copy.fireDeadlines(until: now, policy: policy, moments: &moments)) != nil,
            let events = try? copy.decide(
                .command(.receive(push)), Origin(id: UUID.random()), at: now, policy: policy, moments: &moments
            ).own
        else { return nil }
        return events.compactMap(\.status).first { $0.notification == "forecast" && $0.status != .received }?.status
    }
}
