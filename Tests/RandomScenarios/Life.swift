import Contracts
import Foundation
package import Machines
import OrderedCollections
import Records
import MachineTesting
import Timeline

/// A random life of one aggregate of a machine, in memory. It depends only on the seed of its generator.
package protocol Life {
    associatedtype M: Machine
    var runtime: InMemoryRuntime<M> { get }

    /// Lets some time pass, then submits a command or delivers an event of another service.
    ///
    /// - Returns: the refusal of the machine; nil if it accepted the input.
    /// - Throws: ``LawBroken``, and errors that no machine may throw.
    @discardableResult
    mutating func step() throws -> (any Error)?
}

/// An error: a machine violated a law of every life.
package struct LawBroken: Error, CustomStringConvertible {
    package let description: String
}

/// Throws if a law is violated.
func hold(_ condition: Bool, _ law: String) throws {
    if !condition { throw LawBroken(description: law) }
}

extension InMemoryRuntime {
    /// Submits a command. A copy of the aggregate first decides it in place. A refusal must leave its state as it was.
    mutating func obey(_ command: M.Command, to key: AggregateKey, at now: Instant) throws {
        if var copy = aggregates[key] {
            var slots = SlotAllocator(ceiling: nil)
            let origin = Origin(id: DecisionIdentifiers.derived("in place"))
            do {
                try copy.decideInPlace(.command(command), origin, at: now, policy: policy, slots: &slots) { _, _ in }
            } catch is M.Refusal {
                try hold(copy.state.binary == state(key).binary, "a refusal in place changes nothing")
            }
        }
        try submit(command, to: key, at: now)
    }
}

extension Life {
    /// Runs a number of inputs and writes all results of the machine: each event as in the log, each refusal, and
    /// sometimes the stored states.
    package mutating func play(inputs: Int, _ write: (String) -> Void) throws {
        var written = 0
        for number in 1...inputs {
            let refusal = try step()
            for event in runtime.log[written...] { write(String(decoding: event.cloudEvent, as: UTF8.self)) }
            written = runtime.log.count
            if let refusal { write("refused \(refusal)") }
            guard number % 100 == 0 || number == inputs else { continue }
            for (key, aggregate) in runtime.aggregates {
                write("state \(key) \(Data(aggregate.state.binary).base64EncodedString())")
            }
        }
    }
}

/// The machines with random lives.
package enum LivingMachine: String, CaseIterable, Sendable {
    case lifecycle, fetch, push, transfer

    /// Plays a life that depends only on the seed; see ``Life/play(inputs:_:)``.
    package func play(seed: UInt64, inputs: Int, _ write: (String) -> Void) throws {
        switch self {
        case .lifecycle:
            var life = LifecycleLife(seed: seed)
            try life.play(inputs: inputs, write)
        case .fetch:
            var life = FetchLife(seededRandom(seed))
            try life.begin()
            try life.play(inputs: inputs, write)
        case .push:
            var life = try PushLife(seededRandom(seed))
            try life.play(inputs: inputs, write)
        case .transfer:
            var life = TransferLife(seededRandom(seed))
            try life.begin()
            try life.play(inputs: inputs, write)
        }
    }
}
