import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import Attack

/// The parts of an attack.
@Suite("Parts of an attack") struct AttackPartsTests {
    @Test func `a command is found again by its trace and by its id`() {
        let ledger = Ledger(run: 0x0000_0000_0000_00AB)
        for number in [0, 1, 255, 1 << 40] {
            #expect(ledger.number(ofTraceparent: ledger.traceparent(number)) == number)
            #expect(ledger.number(ofIdentifier: ledger.identifier(number).uppercased()) == number)
        }
        #expect(ledger.number(ofTraceparent: "00-") == nil)
        #expect(ledger.number(ofTraceparent: Ledger(run: 1).traceparent(0)) == nil)
        #expect(ledger.number(ofIdentifier: Ledger(run: 1).identifier(0)) == nil)
    }

    @Test func `forged tokens have the form of real ones, and each is different`() {
        let real = "aGVhZA.Y2xhaW1z.c2lnbmF0dXJl"
        var seen: Set<String> = []
        for number in 0..<20 {
            let device = ForgedTokens.device(like: real, number: number)
            let provider = ForgedTokens.provider(of: "TEAMTEAM01", key: "KEYKEYKEY1", number: number)
            for token in [device, provider] {
                let parts = token.split(separator: ".", omittingEmptySubsequences: false)
                // 64 bytes in Base64.
                #expect(parts.count == 3 && parts.last?.count == 86, "\(token)")
                #expect(seen.insert(token).inserted, "\(token)")
            }
            #expect(device.hasPrefix("aGVhZA.") == number.isMultiple(of: 2))
            #expect(device.contains(".Y2xhaW1z."))
        }
    }

    @Test func `the same seed makes the same faults`() {
        func faults(_ seed: UInt64) -> [Fault] {
            var plan = FaultPlan(seed: seed, replicas: 2)
            return (0..<200).map { _ in plan.next() }
        }
        #expect(faults(1) == faults(1))
        #expect(faults(1) != faults(2))
        #expect(Set(faults(1).map(\.name)).count >= 10, "every kind of fault occurs")
        for fault in faults(3) {
            guard let (service, number) = fault.replica else { continue }
            #expect((1...(service == .ops ? 1 : 2)).contains(number))
        }
    }

    @Test(arguments: [
        (200, "", "final"), (404, "not_found", "final"), (429, "rate_limited", "not now"), (503, "busy", "not now"),
        (503, "database_unavailable", "not now"), (503, "outcome_unknown", "open"), (503, "stopping", "open"),
        (503, "", "open"), (500, "internal_error", "open"), (502, "", "open"),
    ])
    func `an answer says whether a command may have taken effect`(status: Int, code: String, meaning: String) {
        let body = code.isEmpty ? "" : #"{"code":"\#(code)"}"#
        let answer = Answer(status: status, headers: [:], body: ByteBuffer(string: body))
        let judged =
            switch HonestClient.judge(answer) {
            case .final: "final"
            case .notNow: "not now"
            case .open: "open"
            }
        #expect(judged == meaning)
    }

    @Test func `a provider's 503 may have taken effect`() {
        let body = ByteBuffer(string: #"{"reason":"ServiceUnavailable"}"#)
        guard case .open = HonestClient.judge(Answer(status: 503, headers: [:], body: body)) else {
            Issue.record("it counts as an answer without effect")
            return
        }
    }

    @Test func `errors of an unavailable database are expected, and all others are faults`() {
        func line(_ message: String, _ error: String) -> String {
            #"{"error":"\#(error)","level":"error","message":"\#(message)","service":"push","time":"a"}"#
        }
        var lines = LogLines()
        lines.add([line("failed to run batch", "no connection to PostgreSQL at 127.0.0.1:1/a: it is starting up"), ""])
        #expect(lines.faults == [])
        #expect(lines.remarks.count == 1)
        let unexpected = line("failed to process request", "no connection to PostgreSQL")
        lines.add([unexpected, line("failed to run batch", "column 1 is null")])
        lines.add([unexpected])
        #expect(
            lines.faults.map { $0.prefix { $0 != "\n" } } == [
                "logged as an error, 1 times: push: failed to run batch",
                "logged as an error, 2 times: push: failed to process request",
            ])
    }

    @Test func `a trap is a fault`() {
        var lines = LogLines()
        lines.add(["Fatal error: Not enough bits to represent the passed value", "Stack dump:"])
        #expect(lines.faults == ["trap: Fatal error: Not enough bits to represent the passed value"])
    }
}
