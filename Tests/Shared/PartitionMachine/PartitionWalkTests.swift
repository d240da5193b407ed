import TestSupport
import Testing

/// Random batches of one partition, without a database.
@Suite struct PartitionWalkTests {
    @Test func `each command is answered once, whatever fails`() async throws {
        try await propertyTest(count: 50) { random in
            var walk = PartitionWalk(random)
            try walk.run(batches: 100)
        }
    }

    @Test func `the diagram has exactly the transitions that occur`() throws {
        var taken: Set<[String]> = []
        for seed in 1...60 {
            var walk = PartitionWalk(SplitMix64(seed: UInt64(seed)))
            try walk.run(batches: 100)
            taken.formUnion(walk.edges)
        }
        let diagram = try StateDiagram(in: "Shared/Runtime/PartitionMachine.swift")
        let inner = diagram.lines.drop { !$0.contains("state transaction") }.prefix { !$0.hasSuffix("}") }
        let members: Set<String> = Set(
            diagram.edges.filter { edge in inner.contains { $0.contains("\(edge.from) --> \(edge.to)") } }
                .flatMap { [$0.from, $0.to] })
        #expect(members.count == 6)
        var drawn: Set<[String]> = []
        for edge in diagram.edges where edge.from != StateDiagram.outside {
            for from in edge.from == "transaction" ? members : [edge.from] { drawn.insert([from, edge.to]) }
        }
        #expect(taken.subtracting(drawn).map { "\($0)" }.sorted() == [], "transitions that the diagram lacks")
        #expect(drawn.subtracting(taken).map { "\($0)" }.sorted() == [], "transitions that never occur")
    }
}
