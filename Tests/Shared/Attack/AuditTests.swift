import Testing

@testable import Attack

/// The audit of an attack reports each violation in a log, and nothing for a correct log.
@Suite("Audit of an attack") struct AuditTests {
    @Test func `an acknowledged command that is in the log once is correct`() {
        let right = Doctored(.acknowledged, position: (3, 2))
        #expect(right.faults([right.other(1), right.own(2)]) == [])
    }

    @Test func `an acknowledged command that is not in the log is lost`() {
        let lost = Doctored(.acknowledged)
        #expect(lost.faults([lost.other(1)]) == ["it was acknowledged and is not in the log"])
    }

    @Test func `an acknowledged command that may change nothing may be absent`() {
        #expect(Doctored(.acknowledged, isCertain: false).faults([]) == [])
    }

    @Test(arguments: [Outcome.acknowledged, .refused, .unknown])
    func `a command that is in the log twice is doubled`(outcome: Outcome) {
        let doubled = Doctored(outcome, openAttempts: 1)
        #expect(doubled.faults([doubled.own(1), doubled.own(2)]) == ["it happened 2 times, at 1 and 2"])
    }

    @Test func `two decisions about one command are a fault, even if only one made its event`() {
        let twice = Doctored(.acknowledged)
        var second = twice.own(2)
        second.type = "lifecycle.conditions.other"
        second.correlation = "another"
        #expect(twice.faults([twice.own(1), second]) == ["it was decided 2 times"])
    }

    @Test func `events that follow from those of a command are not counted`() {
        let followed = Doctored(.acknowledged)
        var effect = followed.own(2)
        effect.isDirect = false
        #expect(followed.faults([followed.own(1), effect]) == [])
    }

    @Test func `a refused command must not be in the log, unless an earlier attempt may have taken effect`() {
        let refused = Doctored(.refused)
        #expect(refused.faults([refused.own(1)]) == ["it was refused (expected) and is in the log"])
        #expect(refused.faults([]) == [])
        let open = Doctored(.refused, openAttempts: 1)
        #expect(open.faults([open.own(1)]) == [])
    }

    @Test func `an unexpected refusal is a fault`() {
        let wrong = Doctored(.refused, code: "app_not_installed")
        #expect(wrong.faults([]) == ["it was refused with the unexpected code app_not_installed"])
    }

    @Test func `a command with an unknown outcome may be in the log once`() {
        let unknown = Doctored(.unknown, openAttempts: 2)
        #expect(unknown.faults([]) == [])
        #expect(unknown.faults([unknown.own(1)]) == [])
    }

    @Test func `a command that was never accepted must not be in the log`() {
        let never = Doctored(.unknown)
        #expect(never.faults([]) == [])
        #expect(never.faults([never.own(1)]).count == 1)
    }

    @Test func `an answer must name the position of its event or a later one`() {
        let early = Doctored(.acknowledged, position: (3, 1))
        #expect(early.faults([early.other(1), early.own(2)]) == ["its answer names 3:1, the log has it at 3:2"])
        let elsewhere = Doctored(.acknowledged, position: (4, 9))
        #expect(elsewhere.faults([elsewhere.own(1)]).count == 1)
    }

    @Test func `a command must not reach another device or another service`() {
        let strayed = Doctored(.acknowledged)
        var event = strayed.own(1)
        event.key = "device:b"
        #expect(strayed.faults([event]) == ["its events are of [\"device:b\"]"])
        event = strayed.own(1)
        event.source = "push"
        #expect(strayed.faults([event]).count == 2)
    }

    @Test func `gaps, repeats and an end before the head are reported`() {
        let log = Doctored(.acknowledged)
        #expect(log.faults([log.own(1), log.other(3)]) == ["partition 3 has offset 3 instead of 2"])
        #expect(log.faults([log.own(1), log.other(1)]) == ["partition 3 has offset 1 instead of 2"])
        #expect(log.faults([log.own(1)], head: 2) == ["partition 3 ends at 1, its head is 2"])
    }

    @Test func `an event of a command that was not sent is found`() {
        let log = Doctored(.acknowledged)
        var stranger = log.own(2)
        stranger.traceparent = log.ledger.traceparent(7)
        let faults = log.faults([log.own(1), stranger])
        #expect(faults == ["lifecycle.conditions.changed at 3:2 belongs to no command that was sent"])
    }

    @Test func `a notification is found by its id`() {
        let log = Doctored(.acknowledged)
        var event = log.own(1)
        event.traceparent = nil
        #expect(log.faults([event]).count == 1)
        event.correlation = log.ledger.identifier(0)
        #expect(log.faults([event]) == [])
    }

    @Test func `a broadcast reaches each of its devices once`() {
        func faults(_ outcome: Outcome, _ keys: [String]) -> [String] {
            let log = Doctored(outcome, openAttempts: 1, targets: ["device:a", "device:b"])
            return log.faults(
                keys.enumerated().map { offset, key in
                    var event = log.own(offset + 1)
                    event.key = key
                    return event
                })
        }
        #expect(faults(.acknowledged, ["device:a", "device:b"]) == [])
        #expect(faults(.acknowledged, ["device:a"]) == ["1 of 2 did not get it: [\"device:b\"]"])
        #expect(faults(.acknowledged, ["device:a", "device:b", "device:a"]) == ["device:a got it 2 times"])
        #expect(faults(.acknowledged, ["device:a", "device:c"]) == ["it reached device:c"])
        #expect(faults(.unknown, []) == [])
        #expect(faults(.unknown, ["device:a", "device:b"]) == [])
        #expect(faults(.unknown, ["device:a"]) == ["only some got it: not [\"device:b\"]"])
    }

    @Test func `the counts include acknowledged commands and logged commands`() {
        let log = Doctored(.unknown, openAttempts: 1)
        var audit = Audit(log.ledger)
        audit.add(log.own(1))
        let row = audit.verdict(heads: [3: 1]).rows["lifecycle conditions"]
        #expect(row?.logged == 1 && row?.loggedUnknown == 1 && row?.unknown == 1 && row?.acknowledged == 0)
    }
}

/// One command, and the logs that the audit reads.
private struct Doctored {
    let ledger = Ledger(run: 0xF00D_0000_0000_0001)

    init(
        _ outcome: Outcome, isCertain: Bool = true, openAttempts: Int = 0, position: (Int, Int)? = nil,
        code: String = "expected", targets: Set<String> = []
    ) {
        var kind = CommandKind.conditions
        kind.refusals = ["expected"]
        var record = CommandRecord(kind: kind, key: "device:a")
        record.outcome = outcome
        record.targets = targets
        record.isCertain = isCertain
        record.openAttempts = openAttempts
        record.attempts = openAttempts + 1
        record.position = position.map { (partition: $0.0, offset: $0.1) }
        record.code = outcome == .refused ? code : nil
        _ = ledger.open(record)
    }

    /// The event that the command makes.
    func own(_ offset: Int) -> LoggedEvent {
        LoggedEvent(
            partition: 3, offset: offset, source: "lifecycle", type: "lifecycle.conditions.changed", key: "device:a",
            isDirect: true, correlation: "c", traceparent: ledger.traceparent(0))
    }

    /// An unrelated event.
    func other(_ offset: Int) -> LoggedEvent {
        LoggedEvent(
            partition: 3, offset: offset, source: "fetch", type: "fetch.interval.set", key: "device:b", isDirect: true,
            correlation: "d", traceparent: "00-0123456789abcdef0123456789abcdef-00000000000000a1-01")
    }

    /// Returns the audit's faults for a log, without the command's name.
    func faults(_ events: [LoggedEvent], head: Int? = nil) -> [String] {
        var audit = Audit(ledger)
        for event in events { audit.add(event) }
        let last = head ?? events.last?.offset
        return audit.verdict(heads: last.map { [3: $0] } ?? [:]).faults.map {
            $0.replacing("command 0, “conditions” of device:a: ", with: "")
        }
    }
}
