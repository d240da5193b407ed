import TestSupport
import Testing

@testable import TransferService

/// Readers that share queries.
struct SharedReadsTests {
    private struct Failure: Error {}

    /// The queries of a test: each waits until the test lets it end.
    private final class Queries: Sendable {
        let begun = AsyncStream.makeStream(of: [Int].self)
        let ends = AsyncStream.makeStream(of: Bool.self)

        func read(_ keys: [Int]) async throws -> [Int: String] {
            begun.continuation.yield(keys.sorted())
            var end = ends.stream.makeAsyncIterator()
            guard await end.next() == true else { throw Failure() }
            try Task.checkCancellation()
            return Dictionary(uniqueKeysWithValues: keys.filter { $0 > 0 }.map { ($0, "value \($0)") })
        }
    }

    @Test func `callers that come during a query share the next one`() async throws {
        let queries = Queries()
        let reads = SharedReads<Int, String>(limit: 3) { try await queries.read($0) }
        var begun = queries.begun.stream.makeAsyncIterator()
        async let first = reads.value(of: 1)
        #expect(await begun.next() == [1])
        // A caller of the same key also waits: the query under way may have missed a change before its call.
        let others = Task {
            await withTaskGroup(of: String?.self) { group in
                for key in [1, 2, 2, -3, 4] { group.addTask { try? await reads.value(of: key) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        try await eventually(describe: "all callers wait") { reads.waitingCount == 5 }
        for _ in 0..<3 { queries.ends.continuation.yield(true) }
        #expect(try await first == "value 1")
        let (second, third) = (await begun.next() ?? [], await begun.next() ?? [])
        #expect(second.count <= 3 && Set(second + third) == [-3, 1, 2, 4])
        let values = await others.value.compactMap(\.self)
        #expect(values.sorted() == ["value 1", "value 2", "value 2", "value 4"])
        #expect(reads.waitingCount == 0)
    }

    @Test func `the error of a query reaches its callers alone`() async throws {
        let queries = Queries()
        let reads = SharedReads<Int, String> { try await queries.read($0) }
        var begun = queries.begun.stream.makeAsyncIterator()
        let first = Task { try await reads.value(of: 1) }
        #expect(await begun.next() == [1])
        async let second = reads.value(of: 2)
        try await eventually(describe: "the second caller waits") { reads.waitingCount == 1 }
        queries.ends.continuation.yield(false)
        queries.ends.continuation.yield(true)
        await #expect(throws: Failure.self) { try await first.value }
        #expect(try await second == "value 2")
    }

    @Test func `a cancelled caller does not cancel the others`() async throws {
        let mayEnd = Signal<Void>()
        let queries = AsyncStream.makeStream(of: [Int].self)
        let reads = SharedReads<Int, String> { keys in
            queries.continuation.yield(keys.sorted())
            if keys.contains(1) { try await mayEnd.value() }
            // Only a cancellation ends this query.
            if keys.contains(2) { try await Task.sleep(for: .seconds(3600)) }
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, "value \($0)") })
        }
        var begun = queries.stream.makeAsyncIterator()
        async let first = reads.value(of: 1)
        #expect(await begun.next() == [1])
        let leader = Task { try await reads.value(of: 2) }
        try await eventually(describe: "the next leader waits") { reads.waitingCount == 1 }
        async let third = reads.value(of: 3)
        try await eventually(describe: "two callers wait") { reads.waitingCount == 2 }
        mayEnd.fire()
        #expect(try await first == "value 1")
        #expect(await begun.next() == [2, 3])
        leader.cancel()
        await #expect(throws: CancellationError.self) { try await leader.value }
        #expect(try await third == "value 3")
    }
}
