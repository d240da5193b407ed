import Contracts
import RandomScenarios
import Machines
import OrderedCollections
@testable import PushCore
import Records
import MachineTesting
import Testing
import Timeline

/// Random commands and events for a device. A failure prints its seed.
@Suite(.ownThread) struct PushProperties {
    @Test func `random commands and events never violate an invariant`() async throws {
        try await propertyTest(seedsFrom: 11, count: 40) { random in
            var life = try PushLife(random)
            for _ in 0..<250 {
                try life.step()
                try life.checkLaws()
            }
            try life.checkLog()
            try life.checkOutcomes()
            try #require(try life.runtime.foldCheck().isEmpty)
        }
    }
}

extension PushLife {
    /// Checks the events that projections read: one type for each notification, and none after its end.
    fileprivate func checkLog() throws {
        var types: [String: PushType] = [:]
        var gone: Set<String> = []
        for event in runtime.log where event.source == PushEvent.source {
            let known = try PushEvent(type: event.type, version: event.version, data: event.data)
            guard let status = known.status else { continue }
            let told = try PushType(json: try JSON(parsing: event.data)["pushType"] ?? .null)
            try #require(types[status.notification, default: told] == told, "a notification has one type")
            types[status.notification] = told
            try #require(!gone.contains(status.notification), "\(status.status) after the end of the notification")
            let isDiscarded = status.status.rawValue.hasPrefix("Discarded")
            if isDiscarded || [.opened, .responded, .dismissed, .replaced].contains(status.status) {
                gone.insert(status.notification)
            }
        }
    }

    /// Checks that the events alone say which notifications have arrived and which can't any more.
    fileprivate func checkOutcomes() throws {
        var outcomes = PushOutcomes()
        for event in runtime.log { try outcomes.apply(event) }
        for shown in device.shown {
            try #require(outcomes.all[shown.id]?.shownAt != nil, "\(shown.id) is shown without an event")
        }
        for (id, outcome) in outcomes.all where outcome.arrivedAt == nil {
            try #require((device.messages[id] == nil) == outcome.isOver, "\(id): \(outcome)")
        }
        for (id, message) in device.messages where outcomes.all[id]?.arrivedAt != nil {
            try #require(message.deliveredAt != nil, "\(id) arrived without a delivery")
        }
    }

    fileprivate func checkLaws() throws {
        let device = self.device
        if let next = device.nextDeadline { try #require(next > now) }
        for (app, record) in device.apps {
            let tokens = Set(record.tokens.map { "\($0.kind) \($0.activity ?? "")" })
            try #require(tokens.count == record.tokens.count, "one token of each kind and activity")
            let own = device.messages.values.filter { $0.app == app }
            for channel in Set(own.map(\.channel)) {
                let stored = own.count { $0.stage == .stored && $0.channel == channel }
                try #require(stored <= 1, "one stored notification for each app and each of its channels")
            }
            try #require(own.count { $0.stage == .held } <= 1, "one held notification for each app")
        }
        try #require(
            device.liveActivityCount <= Self.policy.liveActivities, "a device has at most eight Live Activities")
        for record in device.apps.values {
            for token in record.tokens where token.kind == .liveactivity {
                let activity = token.activity.flatMap { record.liveActivities[$0] }
                try #require(activity != nil, "a token for updates has a Live Activity")
            }
            for activity in record.liveActivities.values {
                let latest = activity.startedAt + LiveActivity.activeTime + LiveActivity.lockScreenTime
                try #require(now < latest, "a Live Activity is on the Lock Screen for at most twelve hours")
                try #require((activity.state == .ended) == (activity.dismissalDate != nil), "an end has a dismissal")
            }
        }
        try #require(device.shown.count <= PushMachine.shownLimit)
        try #require(Set(device.shown.map(\.id)).count == device.shown.count, "a notification is shown once")
        for shown in device.shown {
            let unsettled = device.messages[shown.id]
            try #require(
                unsettled.map {
                    $0.isPresented && $0.serviceExtension != .running && $0.stage == .acknowledged && $0.wake != .none
                } ?? true,
                "a shown notification is settled, or its handler runs")
            try #require(device.apps[shown.app]?.registration != nil, "only registered apps show notifications")
            let alike = device.shown.filter { $0.app == shown.app && $0.collapseID == shown.collapseID }
            try #require(shown.collapseID == nil || alike.count == 1, "one notification of each collapse id is shown")
        }
        for message in device.messages.values {
            try #require(message.stage != .received, "a received notification leaves the state received")
            try #require(message.stage != .inFlight || device.connection != nil, "in flight means connected")
            try #require(message.stage != .held || message.silent, "only silent ones are held")
            let isRunning = message.serviceExtension == .running
            try #require(
                message.stage != .acknowledged || message.wake != .none || message.summaryAt != nil || isRunning,
                "only a wake, a service extension or the summary keeps an acknowledged notification")
            try #require(isRunning == (message.extensionDeadline != nil), "a running service extension has a deadline")
            try #require(
                message.extensionDeadline.map { $0 > now && $0 <= now + .seconds(30.0) } ?? true,
                "a service extension has 30 s")
            try #require(
                !isRunning || message.isForUser && (message.stage == .inFlight || message.stage == .acknowledged),
                "a service extension runs for an alert on the device")
            let waits = message.stage == .stored || message.stage == .held
            try #require(
                !waits || !message.neverStored && message.expiresAt > now,
                "only a notification that may be stored waits")
            let app = try #require(device.apps[message.app], "only installed apps have notifications")
            try #require(
                message.channel != nil || app.token(of: message.kind, activity: message.activity) != nil,
                "only an active token has notifications, apart from broadcasts")
            try #require(
                message.channel != nil || message.kind.accepts(message.pushType), "a token gets the types of its kind")
            try #require(!message.willPresent || message.isForUser, "willPresent decides about alerts only")
            let latest = now + Self.policy.channelStorage
            try #require(
                message.channel == nil || message.expiresAt <= latest, "broadcasts expire after at most 8 hours")
        }
        try #require(device.messages.values.reduce(0) { $0 + $1.cost } <= Self.policy.backlogBytes + 5500)
        try #require(device.binary.count <= 65_536, "the state fits its row")
        try #require(device.connection == nil || device.conditions.poweredOn && device.conditions.network != .none)
        for moments in charged.values {
            // The bucket has three and refills three an hour: at most six within any hour.
            let lastHour = moments.count { $0 > now - .hours(1) }
            try #require(lastHour <= 6, "the silent budget is kept")
        }
        try #require(PushMachine(binary: device.binary)?.binary == device.binary)
    }
}
