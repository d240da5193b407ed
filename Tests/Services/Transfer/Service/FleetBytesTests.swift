import Testing

@testable import TransferService

@Suite("Bytes of fleets") struct FleetBytesTests {
    private let bytes = FleetBytes(limit: 100)

    @Test func `a fleet stores at most its limit, and an owner without a fleet has none`() {
        #expect(bytes.take(60, of: "f1") && bytes.take(40, of: "f1") && !bytes.take(1, of: "f1"))
        #expect(bytes.take(100, of: "f2") && bytes.take(1000, of: nil))
        #expect(bytes.room(of: "f1") == 0 && bytes.room(of: "f3") == 100 && bytes.room(of: nil) == nil)
        bytes.add(-10, to: "f1")
        #expect(!bytes.take(11, of: "f1") && bytes.take(10, of: "f1"))
    }

    /// - Parameters:
    ///   - before: what the process knows, all of it added before the count.
    ///   - added: what it adds during the count.
    ///   - counted: the result of the count.
    @Test(arguments: [
        // Nothing happens during the count.
        (before: 0, added: 0, counted: 70, known: 70),
        (before: 70, added: 0, counted: 0, known: 0),
        // The count has all of what was added, a part of it, or nothing.
        (before: 10, added: 20, counted: 30, known: 30),
        (before: 10, added: 20, counted: 15, known: 30),
        (before: 10, added: 20, counted: 10, known: 30),
        // Another replica has stored or removed bytes before.
        (before: 10, added: 20, counted: 50, known: 50),
        (before: 90, added: 5, counted: 20, known: 25),
        // Bytes were removed during the count.
        (before: 50, added: -20, counted: 50, known: 30),
        (before: 50, added: -20, counted: 30, known: 30),
    ])
    func `a count corrects what the process knows`(before: Int, added: Int, counted: Int, known: Int) {
        bytes.add(before, to: "f1")
        bytes.beginCount()
        bytes.add(added, to: "f1")
        bytes.endCount(counted == 0 ? [:] : ["f1": counted])
        #expect(bytes.room(of: "f1") == 100 - known)
    }
}
