import Contracts
import Machines
import OrderedCollections
import PushCore
import Scenarios
import Timeline

// The provider, and the way of its pushes to the push service.
extension DeviceSimulation {
    /// The provider sends a push. It has no token before the first launch of the app.
    mutating func send(_ planned: PlannedPush, _ context: inout PartitionContext) throws {
        let send = context.plan.scenario.provider.sends[planned.item]
        let app = send.app.flatMap { context.appIndexes[$0] } ?? 0
        guard let token = apps[app].token(for: send.send) else {
            context.figures[app][send.send].withoutToken += 1
            return
        }
        var delay = Interval.zero
        var copies = 0
        for fault in activeFaults.sorted() {
            var random = draw(.faults, context)
            switch faults[fault].kind {
            case .latePushes(let span): delay = delay + span.drawn(&random)
            case .doubledPushes(let share): if random.holds(share) { copies += 1 }
            default: break
            }
        }
        func push(_ number: Int) -> SentPush {
            let id = DecisionIdentifiers.derived(
                "push", context.seedText, key.description, String(planned.send), String(number))
            return SentPush(id: id.lowercased, token: token, sentAt: planned.at, item: planned.item)
        }
        let first = push(1)
        awaited[first.id] = AwaitedPush(sentAt: planned.at, app: app, content: send.send)
        trails.begin(first.id)
        context.figures[app][send.send].sent += 1
        context.figures[app][send.send].doubled += copies
        for copy in 0..<copies { schedule(.receive(push(2 + copy)), after: delay + .seconds(Double(1 + copy))) }
        if delay > .zero { schedule(.receive(first), after: delay) } else { try receive(first, &context) }
    }

    /// The push service gets a push. An expired one gets one attempt.
    mutating func receive(_ push: SentPush, _ context: inout PartitionContext) throws {
        let send = context.plan.scenario.provider.sends[push.item]
        let app = send.app.flatMap { context.appIndexes[$0] } ?? 0
        let name = context.plan.scenario.apps[app].id
        let expiration = send.expiration?.interval
        let incoming = IncomingPush(
            token: push.token, app: name, topic: name, pushType: send.pushType, environment: .production,
            apnsID: push.id, notification: push.id, priority: send.effectivePriority, collapseID: send.collapseID,
            expiration: expiration.map { push.sentAt + $0 }, neverStored: expiration == .zero,
            payload: context.payloads[push.item].document)
        awaited[push.id]?.isReceived = true
        guard let code = try submit(.receive(incoming), &context), awaited.removeValue(forKey: push.id) != nil else {
            return
        }
        trails.end(push.id)
        context.figures[app][send.send].refused[code, default: 0] += 1
    }
}

extension SimulatedApp {
    /// Returns the token for pushes of a kind; nil if the provider has none.
    fileprivate func token(for content: Send.Content) -> String? {
        switch content {
        case .alert, .alertWithContent, .silent: token
        case .pushToTalk: pushToTalkToken
        case .voip: voipToken ?? token
        }
    }
}
