public import EventLog
public import Hummingbird

extension LogTail {
    /// Returns the start of a stream of many devices by partition: `Last-Event-ID`, or the heads.
    ///
    /// - Throws: `invalid_header`, `invalid_query`, `beyond_retention`, `position_beyond_log`.
    public func start(of request: Request) async throws -> [Int: Int] {
        let point = try request.encodedPosition()
        var start = try await heads()
        if let text = request.uri.queryParameters["partitions"] {
            let asked = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
            guard asked.allSatisfy({ $0.map { start[$0] != nil } ?? false }) else {
                throw Problem.invalidQuery.with(
                    detail: "`partitions` must be numbers from 0 to \(partitions - 1).")
            }
            start = start.filter { asked.contains($0.key) }
        }
        guard let point else { return start }
        let resumed = point.offsets.mapValues { Int($0) }.filter { start[$0.key] != nil }
        try await requireInLog(resumed)
        return start.merging(resumed) { _, resumed in resumed }
    }
}
