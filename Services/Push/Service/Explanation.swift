import Contracts
import Foundation
import Machines
import OrderedCollections
import PushCore
import Records
import Timeline

/// The budget and power state of an app's notifications, and a forecast for each push type.
struct Explanation: Record {
    struct Budget: Record {
        var capacity = 0
        var left = 0
        /// The time at which the budgets of app and device next allow a push; nil if they do now, or if the app is long
        /// unused.
        var nextReleaseAt: Nullable<Instant> = nil
    }

    /// The outcome of a push that arrives now.
    struct Outcome: Record {
        var cause: String?
        var status = ConsoleStatus.received
        /// The end of the wait in this status, if known.
        var until: Instant?
    }

    var app = ""
    var budget = Budget()
    /// The forecasts by push type. `alert` has priority 10, `alertByPower` 5, `alertWithoutWaking` 1. Only the types for
    /// which the app has a token.
    var forecast: OrderedDictionary<String, Outcome> = [:]
    /// Do Not Disturb, if it was reported.
    var doNotDisturb: DoNotDisturb?
    /// Whether a Focus of the user is on.
    var focus = false
    var lowPowerMode = false
    /// The next scheduled summary, if the user has put the app into it.
    var nextSummaryAt: Instant?
    var notifications = NotificationSettings()
    var online = false
    var powerFriendly = false
    /// The readings of the disputed rules that decided about notifications that wait for the budget.
    var readings: [RuleReading] = []
    /// Whether the app has a token for alerts and background pushes.
    var registered = false
    /// Whether the app has a service extension, which may change alerts with `mutable-content`.
    var serviceExtension = false
    var state = AppPresence.notRunning
    var throttled = true
    var wakes = false

    /// - Parameter aggregate: a device on which the app is installed.
    init(_ app: String, _ record: PushedApp, _ aggregate: Aggregate<PushMachine>, at now: Instant, _ policy: PushPolicy)
    {
        let state = aggregate.state
        self.app = app
        registered = record.registration != nil
        serviceExtension = record.hasServiceExtension
        online = state.isOnline
        powerFriendly = state.isPowerFriendly
        doNotDisturb = state.conditions.doNotDisturb
        focus = state.conditions.focus?.state == .on
        lowPowerMode = state.conditions.lowPowerMode
        if record.notifications.scheduledDelivery == .on { nextSummaryAt = state.nextSummary(after: now, policy) }
        throttled = state.isThrottled
        self.state = record.state
        wakes = record.wakes
        notifications = record.notifications
        if state.messages.values.contains(where: { $0.app == app && $0.stage == .held }) {
            let rule = DisputedRule.silentNotifications
            readings = [RuleReading(reading: policy.generations[rule], rule: rule)]
        }
        budget.capacity = Int(policy.silentBurst)
        budget.left = state.silentLeft(of: record, at: now, policy)
        budget.nextReleaseAt = budget.left > 0 ? nil : state.silentAvailability(of: record, at: now, policy)
        for (name, sample) in Self.samples {
            guard let token = record.tokens.first(where: { $0.kind.accepts(sample.pushType) }) else { continue }
            var push = sample
            push.app = app
            push.topic = app + sample.pushType.topicSuffix
            push.token = token.token
            push.environment = token.environment
            forecast[name] = Self.outcome(of: push, aggregate, now, policy)
        }
    }

    /// A sample push of each type, without app and token.
    private static let samples: [(name: String, push: IncomingPush)] =
        [("alertByPower", sample(.alert, priority: 5)), ("alertWithoutWaking", sample(.alert, priority: 1))]
        + PushType.allCases.map { ($0.rawValue, sample($0, priority: $0 == .background ? 5 : 10)) }

    private static func sample(_ type: PushType, priority: Int) -> IncomingPush {
        let payload: JSON =
            switch type {
            case .background: ["aps": ["content-available": 1]]
            case .mdm: ["mdm": "?"]
            default: ["aps": ["alert": "?"]]
            }
        return IncomingPush(
            token: "", app: "", topic: "", pushType: type, environment: .sandbox, apnsID: "", notification: "forecast",
            priority: priority, collapseID: nil, expiration: nil, neverStored: false, payload: payload)
    }

    /// Returns the outcome of a push, decided on a copy of the state.
    private static func outcome(
        of push: IncomingPush, _ aggregate: Aggregate<PushMachine>, _ now: Instant, _ policy: PushPolicy
    ) -> Outcome? {
        var copy = aggregate
        var slots = SlotAllocator(ceiling: nil)
        guard (try? copy.fireDeadlines(until: now, policy: policy, slots: &slots)) != nil,
            let events = try? copy.decide(
                .command(.receive(push)), Origin(id: UUID.random()), at: now, policy: policy, slots: &slots
            ).own,
            let found = events.compactMap(\.status).first(where: {
                $0.notification == push.notification && $0.status != .received
            })
        else { return nil }
        var outcome = Outcome()
        outcome.status = found.status
        outcome.until = found.until
        outcome.cause = found.cause
        return outcome
    }
}
