import Contracts
import Machines
import MachineTesting
import Testing
import Timeline

@Suite(.ownThread) struct MomentLedgerTests {
    private let start = Instant(milliseconds: 1_750_032_000_000)

    @Test(arguments: [(1, 1), (1, 16), (7, 4), (100, 16), (1000, 16), (1000, 1)])
    func `every second has as many slots as the rate allows`(ceiling: Int, partitions: Int) {
        let seconds: Int64 = ceiling < 100 ? 40 : 3
        var all: [Int64] = []
        for partition in 0..<partitions {
            let allocator = SlotAllocator(ceiling: ceiling, partition: partition, partitions: partitions)
            var moment = allocator.first(from: start)
            while moment < start + .seconds(seconds) {
                all.append(moment.milliseconds)
                moment = allocator.first(from: moment + .milliseconds(1))
            }
        }
        all.sort()
        #expect(all.count == ceiling * Int(seconds))
        #expect(Set(all).count == all.count, "partitions share no slot")
        // In every window of a second, not only in calendar seconds.
        for (index, moment) in all.enumerated() where index + ceiling < all.count {
            #expect(all[index + ceiling] >= moment + 1000)
        }
    }

    @Test func `without a rate every millisecond is free`() {
        let allocator = SlotAllocator(ceiling: nil)
        #expect(allocator.first(from: start) == start)
        #expect(allocator.last(from: start, upTo: start + .hours(1)) == start + .hours(1))
        #expect(allocator.last(from: start, upTo: start - .milliseconds(1)) == nil)
    }

    /// Compared with a list of free slots.
    @Test func `the allocator finds the free slots`() async throws {
        try await propertyTest(count: 40) { random in
            var random = random
            let partitions = Int.random(in: 1...20, using: &random)
            let ceiling = Int.random(in: 1...1000, using: &random)
            var allocator = SlotAllocator(ceiling: ceiling, partition: 0, partitions: partitions)
            var slots: [Instant] = []
            var moment = allocator.first(from: start)
            while slots.count < 9000 {
                slots.append(moment)
                moment = allocator.first(from: moment + .milliseconds(1))
            }
            var free = Set(slots)
            for _ in 0..<6000 {
                let index = Int.random(in: 0..<slots.count, using: &random)
                let near = slots[index] + .milliseconds(Int64.random(in: -3...3, using: &random))
                let isTaken = Int.random(in: 0..<3, using: &random) > 0
                if isTaken {
                    allocator.replace([], by: [ReservedSlot(at: slots[index], ceiling: ceiling)], at: start)
                    free.remove(slots[index])
                } else {
                    allocator.replace([ReservedSlot(at: slots[index], ceiling: ceiling)], by: [], at: .epoch)
                    free.insert(slots[index])
                }
                let next = slots[max(0, index - 5)...].first { $0 >= near && free.contains($0) }
                if near >= slots[0], let next { try #require(allocator.first(from: near) == next) }
                let bound = near - .seconds(Int64(2))
                let former = slots[...min(index + 5, slots.count - 1)].last {
                    $0 <= near && $0 >= bound && free.contains($0)
                }
                if bound >= slots[0] { try #require(allocator.last(from: bound, upTo: near) == former) }
            }
            var copy = SlotAllocator(ceiling: ceiling, partition: 0, partitions: partitions)
            for page in allocator.changed {
                let isPage = copy.restore(page, allocator.page(page))
                try #require(isPage)
            }
            for moment in slots.prefix(200) { try #require(copy.first(from: moment) == allocator.first(from: moment)) }
        }
    }

    @Test func `slots far in the future do not overflow`() {
        var allocator = SlotAllocator(ceiling: 1000, partition: 3, partitions: 16)
        let last = Instant(milliseconds: .max)
        #expect(allocator.first(from: last) > Instant.documented.upperBound)
        #expect(allocator.last(from: last, upTo: last) == nil)
        allocator.replace([], by: [ReservedSlot(at: last, ceiling: 1000)], at: start)
        #expect(allocator.changed.isEmpty)
        let bytes = [UInt8](repeating: 1, count: Int(SlotAllocator.pageSize / 8))
        for page in [Int64.max, .min, -1] {
            let isTaken = allocator.restore(page, bytes)
            #expect(!isTaken)
        }
        let isTaken = allocator.restore(7, bytes)
        #expect(isTaken)
    }

    @Test func `a past slot stays reserved`() {
        var allocator = SlotAllocator(ceiling: 10)
        let first = allocator.first(from: start)
        allocator.replace([], by: [ReservedSlot(at: first, ceiling: 10)], at: start - .seconds(Int64(1)))
        allocator.replace([ReservedSlot(at: first, ceiling: 10)], by: [], at: first)
        #expect(allocator.first(from: first) > first, "it has passed")
        let later = allocator.first(from: start + .hours(1))
        allocator.replace([], by: [ReservedSlot(at: later, ceiling: 10)], at: start)
        allocator.replace([ReservedSlot(at: later, ceiling: 10)], by: [], at: start)
        #expect(allocator.first(from: later) == later, "it was released in time")
    }

    @Test func `reservations under another rate change nothing`() {
        var allocator = SlotAllocator(ceiling: 10, partition: 1, partitions: 4)
        let foreign = allocator.first(from: start) + .milliseconds(7)
        allocator.replace([], by: [ReservedSlot(at: foreign, ceiling: 10)], at: .epoch)
        let own = allocator.first(from: start)
        allocator.replace([], by: [ReservedSlot(at: own, ceiling: 20)], at: .epoch)
        #expect(allocator.changed.isEmpty, "not a slot of this allocator, or reserved under another rate")
        allocator.replace([], by: [ReservedSlot(at: own, ceiling: 10)], at: .epoch)
        allocator.replace([ReservedSlot(at: own, ceiling: 20)], by: [], at: .epoch)
        #expect(allocator.first(from: start) > own, "the release of a reservation under another rate does not free it")
    }

    @Test func `an empty page is removed`() {
        var allocator = SlotAllocator(ceiling: 10)
        let far = ReservedSlot(at: allocator.first(from: start + .days(365 * 1000)), ceiling: 10)
        allocator.replace([], by: [far], at: start)
        allocator.replace([far], by: [], at: start)
        #expect(allocator.changed.count == 1)
        #expect(allocator.changed.allSatisfy { allocator.page($0).isEmpty })
        #expect(!allocator.hasPages(before: .documented.upperBound))
    }

    @Test func `past pages are dropped`() {
        var allocator = SlotAllocator(ceiling: 100)
        let moment = allocator.first(from: start)
        allocator.replace([], by: [ReservedSlot(at: moment, ceiling: 100)], at: .epoch)
        #expect(!allocator.hasPages(before: start))
        #expect(allocator.hasPages(before: start + .days(2)))
        allocator.drop(before: start + .days(2))
        #expect(!allocator.hasPages(before: start + .days(2)))
        #expect(allocator.first(from: moment) == moment)
    }

    @Test func `a refused decision reserves nothing`() throws {
        var runtime = InMemoryRuntime<Booker>(policy: 10)
        let aim = start + .hours(1)
        #expect(throws: Counter.Refusal.self) {
            try runtime.submit(.bookThenRefuse(from: aim), to: .device("a"), at: start)
        }
        try runtime.submit(.book(from: aim), to: .device("a"), at: start)
        try runtime.submit(.book(from: aim), to: .device("b"), at: start)
        #expect(runtime.state(.device("a")).counter.ringAt == aim)
        #expect(runtime.state(.device("b")).counter.ringAt == aim + .milliseconds(100))
        try runtime.submit(.cancel, to: .device("a"), at: start)
        try runtime.submit(.book(from: aim), to: .device("c"), at: start)
        #expect(runtime.state(.device("c")).counter.ringAt == aim, "the released slot is free")
    }
}
