import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Batches that decide from memory.
extension PartitionMachineTests {
    @Test func `the owner of a known partition decides commands without a look`() throws {
        var play = try known()
        #expect(play.begin([.add(1, to: "a")]) == "assume")
        let input = try play.assumed()
        #expect(play.send(.gathered(input)) == "verify and commit 1")
        #expect(play.send(.committed(head: 2)) == "adopt, answer ok")
        #expect(play.begin([.add(1, to: "a")]) == "assume")
    }

    @Test(arguments: [
        "no lease", "a log to read", "a recent death", "a condemned command", "a forgotten partition", "parked devices",
        "a doubt",
    ]) func `a batch looks first after a change`(_ change: String) throws {
        var play = try known()
        switch change {
        case "no lease": play.machine.leaseLost()
        case "a doubt": play.machine.isDoubtful = true
        case "a log to read": play.machine.look(now: play.now)
        case "a recent death": play.machine.commandGuard.turn(true, condemned: [])
        case "a condemned command": play.machine.commandGuard.turn(false, condemned: ["command:k"])
        case "a forgotten partition": _ = play.machine.forget()
        default: play.machine.hasParkedKeys = true
        }
        #expect(play.begin([.add(1, to: "a")]) == "gather")
    }

    @Test func `a log that ends before a known event stops the process`() throws {
        var play = try known()
        #expect(play.begin([.add(1, to: "a")]) == "assume")
        play.send(.gathered(try play.assumed()))
        #expect(play.send(.committed(head: 3)) == "adopt, answer ok")
        play.machine.look(now: play.now)
        #expect(play.begin([.add(1, to: "a")]) == "gather")
        var input = BatchInput<Counter>.pings(holdsLease: true)
        input.head = 2
        #expect(play.handle(.gathered(input)) == "forget, fail \(RuntimeError.databaseUnavailable), lost 2..<3")
    }

    @Test func `a batch that assumes finds events lost that the process has only read`() throws {
        var play = try known()
        play.machine.lastHead = 5
        #expect(play.begin([.add(1, to: "a")]) == "assume")
        #expect(play.send(.gathered(try play.assumed())) == "verify and commit 1")
        #expect(play.send(.committed(head: 5)) == "adopt, answer ok, lost 4..<5")
    }

    @Test func `a refusal needs a look`() throws {
        var play = try known()
        #expect(play.begin([Submission(.addThenRefuse, to: "a"), .add(1, to: "a")]) == "assume")
        let input = try play.assumed()
        #expect(play.send(.gathered(input)) == "gather")
        #expect(play.send(.gathered(.pings(holdsLease: true))) == "commit 1 at 0")
        #expect(play.send(.committed(head: 2)) == "adopt, answer refused ok")
    }

    @Test func `an assumption that does not hold leads to a look`() throws {
        for error in [Failures.guarded, Failures.badData, Failures.conflict] as [any Error] + [Failures.away] {
            var play = try known()
            _ = play.begin([.add(1, to: "a")])
            play.send(.gathered(try play.assumed()))
            #expect(play.send(.failed(error, isShared: true)) == "gather", "\(error)")
            #expect(play.send(.gathered(.pings())) == "commit 1 at 0")
            #expect(play.send(.committed(head: 2)) == "adopt, answer ok")
            #expect(play.machine.mayShare)
        }
    }

    @Test func `the lost answer to an assuming commit is found`() throws {
        var play = try known()
        _ = play.begin([.add(1, to: "a")])
        play.send(.gathered(try play.assumed()))
        #expect(play.send(.failed(Failures.lost, isShared: true)) == "forget, settle")
        guard case .settling(_, _, let head, _) = play.machine.phase else { return #expect(Bool(false)) }
        #expect(head == 1)
        #expect(play.send(.settled(.committed(head: 2))) == "adopt, answer ok")
    }

    @Test func `assumptions that do not hold become rarer, and one that holds ends this`() {
        var pace = AssumptionPace()
        func looks() -> Int {
            var count = 0
            while !pace.takes() { count += 1 }
            return count
        }
        #expect(looks() == 0)
        var counts: [Int] = []
        for _ in 0..<9 {
            pace.failed()
            counts.append(looks())
        }
        #expect(counts == [1, 2, 4, 8, 16, 32, 64, 64, 64])
        pace.held()
        #expect(looks() == 0)
        pace.failed()
        #expect(looks() == 1)
    }

    /// A partition after a batch with a command of device `a`.
    private func known() throws -> MachinePlay {
        var play = MachinePlay()
        #expect(play.begin([.add(1, to: "a")]) == "gather")
        play.send(.gathered(.pings()))
        play.send(.committed(head: 1))
        #expect(!play.machine.takesLog)
        return play
    }
}

extension MachinePlay {
    /// The input of the batch that assumes, with the states that a cache would have.
    fileprivate func assumed() throws -> BatchInput<Counter> {
        guard case .gathering(let attempt) = machine.phase, let lease = machine.lease else { throw RuntimeError.failed }
        var aggregates: [AggregateKey: Aggregate<Counter>] = [:]
        for key in attempt.submissions.map(\.key) { aggregates[key] = Aggregate(key: key) }
        let assumption = Assumption(
            lease: (lease.owner, lease.epoch), lastBatch: try #require(machine.lastBatch), form: machine.form,
            head: machine.lastHead)
        return BatchInput(assumption, aggregates: aggregates)
    }
}
