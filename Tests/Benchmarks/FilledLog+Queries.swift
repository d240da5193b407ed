import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Postgres
import TestSupport

extension FilledLog {
    /// Waits until `ops` has counted the events, and prints the rate.
    func waitForCounts() async throws {
        let (begun, events) = (ContinuousClock.now, try await uncounted())
        try await eventually(within: 3600, describe: "all events are counted") { try await self.uncounted() == 0 }
        Report.figure(
            "events counted, while nothing else runs", Double(events) / (begun.duration(to: .now) / .seconds(1)),
            "per second")
    }

    /// The counts must equal a full count of all events.
    func checkCounts() async throws {
        let wrong = try await pool.execute(
            Query(
                Statement(
                    """
                    SELECT count(*)::int8 FROM (
                        SELECT type, sum(events) AS n FROM ops.counts WHERE width = 3600 GROUP BY type) AS c
                    FULL JOIN (SELECT type, count(*) AS n FROM bus.events GROUP BY type) AS e USING (type)
                    WHERE c.n IS DISTINCT FROM e.n
                    """), rowsExpected: 1))[0].decode(Int.self, at: 0)
        guard wrong == 0 else { throw ToolFailed(description: "the counts of \(wrong) types are wrong") }
        Report.progress("the counts equal a full count")
    }

    /// Sends queries one after the other.
    ///
    /// - Returns: the durations in milliseconds, the shortest first.
    func times(
        _ http: HTTPClient, _ count: Int, _ path: (inout SplitMix64) -> String
    ) async throws -> [Double] {
        var random = SplitMix64(seed: 3)
        var took: [Double] = []
        for number in 0..<count + 20 {
            let milliseconds = try await time(http, path(&random))
            // The first queries prepare statements and fill caches.
            if number >= 20 { took.append(milliseconds) }
        }
        return took.sorted()
    }

    /// Sends one query.
    ///
    /// - Returns: its duration in milliseconds.
    func time(_ http: HTTPClient, _ path: String) async throws -> Double {
        let begun = ContinuousClock.now
        let answer = try await http.execute(HTTPClientRequest(url: address + path), timeout: .seconds(60))
        let body = try await answer.body.collect(upTo: 1 << 24)
        guard answer.status == .ok else {
            throw ToolFailed(description: "\(path): \(answer.status.code) \(String(buffer: body))")
        }
        return begun.duration(to: .now) / .milliseconds(1)
    }
}
