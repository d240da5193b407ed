import TestSupport

@testable import Runtime

extension DurableRuntime<Counter> {
    /// Adds 1 to a device a number of times, with as many commands at a time as a partition queues.
    func addOnes(_ count: Int, to device: String) async throws {
        let limit = PartitionInbox<Counter>.queueLimit
        for first in stride(from: 0, to: count, by: limit) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in first..<min(first + limit, count) {
                    group.addTask { _ = try await self.submit(.add(1, to: device)) }
                }
                try await group.waitForAll()
            }
        }
    }
}
