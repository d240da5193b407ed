import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Replay and discard by an operator.
@Suite("Dead letters", .tags(.database, .processes, .browser), .timeLimit(.minutes(5))) struct DeadLetterTests {
    @Test func `an operator discards the input at fault`() async throws {
        let (suite, ownThread) = try await park()
        #expect(ownThread.allSatisfy { $0["key"]?.string == "device:phone" })

        let order = "/v1/dead-letters/fetch/device:phone"
        let again = try await suite.send(.POST, .ops, order + "/replay")
        #expect(again.status == 409 && again.json["code"] == "fails_again")
        // After the repair, discard still drops the input at fault and processes the inputs behind it.
        try await repair(suite)
        let freed = try await suite.send(.POST, .ops, order + "/discard", headers: ["Idempotency-Key": "once"])
        #expect(freed.status == 200 && freed.json["taken"]?.int == ownThread.count - 1)
        let repeated = try await suite.send(.POST, .ops, order + "/discard", headers: ["Idempotency-Key": "once"])
        #expect(repeated.status == 200 && repeated.body == freed.body)
        #expect(try await suite.call(.GET, .ops, "/v1/dead-letters?service=fetch").json["items"]?.items == [])

        #expect(try await audited(suite) == ["deadLetter.discarded"], "a refused or repeated order leaves no row")

        let none = try await suite.send(.POST, .ops, order + "/replay")
        #expect(none.status == 404 && none.json["code"] == "not_parked")
        #expect(try await suite.send(.POST, .ops, "/v1/dead-letters/mail/device:phone/replay").status == 404)
        #expect(try await suite.send(.POST, .ops, order + "/replay", as: "wrong").status == 401)
        try await suite.kill(.fetch)
        let away = try await suite.send(.POST, .ops, order + "/replay")
        #expect(away.status == 503 && away.json["code"] == "service_unreachable")
        _ = try await suite.stop()
    }

    @Test(.tags(.browser), .enabled(if: Browser.isInstalled, "apt-get install chromium"))
    func `an operator replays a dead letter on the page`() async throws {
        let (suite, letters) = try await park()
        try await Browser.run { browser in
            let page = suite.address(.ops) + "/#/services"
            try await browser.open(page, key: RunningSuite.operatorKey)
            try await browser.until("document.querySelectorAll('#letter-rows tr').length === 1")
            try await browser.press("#letter-rows button")
            #expect(try await browser.text("#confirm-do") == "Replay")
            try await browser.press("#confirm-do")
            try await browser.until("document.querySelector('#confirm-fault').textContent.includes('failed again')")
            try await repair(suite)
            try await browser.press("#confirm-do")
            try await browser.until("!document.querySelector('#confirm').open")
            try await browser.until("document.querySelectorAll('#letter-rows tr').length === 0")
            let inputs = letters.count == 1 ? "1 input" : "\(letters.count) inputs"
            #expect(try await browser.text("#letters-done") == "fetch has processed \(inputs) of device:phone.")
            #expect(try await browser.text("#letters-lead")?.hasPrefix("No device is parked") == true)
            let complaints = await browser.complaints
            #expect(complaints == [])
        }
        #expect(try await suite.call(.GET, .ops, "/v1/dead-letters").json["items"]?.items == [])
        #expect(try await audited(suite) == ["deadLetter.replayed"])
        _ = try await suite.stop()
    }

    /// Returns the actions in the audit trail about the device.
    private func audited(_ suite: RunningSuite) async throws -> [String?] {
        let rows = try await suite.call(.GET, .ops, "/v1/audit?subject=device:phone").json["items"]?.items ?? []
        return rows.map { $0["action"]?.string }
    }

    /// Starts services, of which `fetch` parks a device, and returns its dead letters.
    private func park() async throws -> (RunningSuite, [JSON]) {
        let suite = try await RunningSuite.start([.lifecycle, .ops])
        let registered = try await suite.call(.PUT, .lifecycle, "/v1/devices/phone", ["profile": "ios15"])
        let place = try #require(registered.position?.split(separator: ":").first.map(String.init))
        // `fetch` cannot read this state.
        try await suite.cluster.sql(
            """
            INSERT INTO "fetch".states (partition, key, state, machine_version, version, event_count, decided_at)
            VALUES (\(place), 'device:phone', '\\xffff', 1, 1, 1, 0)
            """, database: suite.database)
        try await suite.launch(.fetch)
        let letters = Signal<[JSON]>()
        try await eventually(describe: "fetch has a dead letter") {
            let items = try await suite.call(.GET, .ops, "/v1/dead-letters?service=fetch").json["items"]?.items ?? []
            return !items.isEmpty && letters.fire(items)
        }
        return (suite, try await letters.value())
    }

    /// Removes what `fetch` cannot read.
    private func repair(_ suite: RunningSuite) async throws {
        try await suite.cluster.sql("DELETE FROM \"fetch\".states WHERE key = 'device:phone'", database: suite.database)
    }
}
