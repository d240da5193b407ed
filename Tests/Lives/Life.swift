import Contracts
import Foundation
package import Machines
import OrderedCollections
import Records
import TestSupport

/// A random life of one aggregate of a machine, in memory: it depends on the seed of its generator alone.
package protocol Life {
    associatedtype M: Machine
    var runtime: InMemoryRuntime<M> { get }

    /// Lets some time pass, then one input comes: a command, or an event of another service.
    ///
    /// - Returns: the refusal, where the machine refused it.
    /// - Throws: ``LawBroken``, and what no machine may throw.
    @discardableResult
    mutating func step() throws -> (any Error)?
}

/// A machine broke a law of every life.
package struct LawBroken: Error, CustomStringConvertible {
    package let description: String
}

/// Throws where a law does not hold.
func hold(_ condition: Bool, _ law: String) throws {
    if !condition { throw LawBroken(description: law) }
}

extension Life {
    /// Lives for so many inputs and writes down all that the machine does: each event as the log has it, each refusal, and
    /// from time to time the states as they are stored.
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

/// The machines whose lives can be played.
package enum LivingMachine: String, CaseIterable, Sendable {
    case lifecycle, fetch, push, transfer

    /// Plays a life that depends on the seed alone; see ``Life/play(inputs:_:)``.
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
