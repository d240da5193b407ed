import Contracts
import Records
import Scenarios
import Timeline

// The faults of a device. Two faults of one kind may overlap: the effect ends with the last one.
extension ScenarioDevice {
    func beginFault(_ number: Int) async throws(CancellationError) {
        let fault = faults[number]
        if fault.kind.lasts {
            activeFaults.insert(number)
            schedule(.endFault(number), after: fault.until - now)
        }
        switch fault.kind {
        case .crash(let app):
            guard try await state(of: app)?.isRunning == true else { return }
            try await transition(app, "crash")
        case .memoryPressure: try await reportMemoryPressure()
        case .reboot: if isPoweredOn { try await power("off") }
        case .lostRadio: try await reportNetwork()
        case .clockSkew, .doubledPushes, .kill, .latePushes, .neverReturns: return
        }
    }

    func endFault(_ number: Int) async throws(CancellationError) {
        let kind = faults[number].kind
        activeFaults.remove(number)
        switch kind {
        case .memoryPressure: try await reportMemoryPressure()
        case .reboot:
            if !activeFaults.contains(where: { faults[$0].kind == .reboot }) { try await power("boot") }
        case .lostRadio: try await reportNetwork()
        case .clockSkew, .crash, .doubledPushes, .kill, .latePushes, .neverReturns: return
        }
    }

    /// Reports the highest pressure of all faults that last.
    private func reportMemoryPressure() async throws(CancellationError) {
        let kinds = activeFaults.map { faults[$0].kind }
        let highest = [MemoryPressure.critical, .warning].first { kinds.contains(.memoryPressure($0)) }
        var report = ConditionsReport()
        report.memoryPressure = highest ?? .normal
        try await reportConditions(report)
    }

    // MARK: Pushes

    /// The provider sends a push. It has no token before the first launch of the app.
    func send(_ push: PlannedPush) async throws(CancellationError) {
        guard world.provider != nil else { return }
        let send = scenario.provider.sends[push.item]
        guard apps[app(of: send)].token(for: send.send) != nil else {
            return record(push, isCopy: false, .withoutToken)
        }
        var delay = Interval.zero
        var copies = 0
        for fault in activeFaults.sorted() {
            var random = draw(.faults)
            switch faults[fault].kind {
            case .latePushes(let span): delay = delay + span.drawn(&random)
            case .doubledPushes(let share): if random.holds(share) { copies += 1 }
            default: break
            }
        }
        for copy in 0..<copies {
            schedule(.sendCopy(push), after: delay + .seconds(Int64(1 + copy)))
        }
        if delay > .zero { schedule(.send(push), after: delay) } else { try await deliver(push, isCopy: false) }
    }

    /// Sends a push to the push service.
    func deliver(_ push: PlannedPush, isCopy: Bool) async throws(CancellationError) {
        let send = scenario.provider.sends[push.item]
        let app = app(of: send)
        guard let provider = world.provider, let token = apps[app].token(for: send.send) else {
            return record(push, isCopy: isCopy, .withoutToken)
        }
        let left = send.expiration.map { max($0.interval - (now - push.at), .zero) }
        let fate = try await provider.send(send, topic: scenario.apps[app].id, to: token, expiresIn: left)
        record(push, isCopy: isCopy, fate)
    }

    private func app(of send: Send) -> Int {
        send.app.flatMap { name in scenario.apps.firstIndex { $0.id == name } } ?? 0
    }

    private func record(_ push: PlannedPush, isCopy: Bool, _ fate: RecordedPush.Fate) {
        world.recorder.sent(
            RecordedPush(device: index, item: push.item, sentAt: push.at, isCopy: isCopy, fate: fate))
    }
}
