import Contracts
import Foundation
package import MachineTesting
package import Machines
import Records

/// A machine with golden traces and stored states.
///
/// The files are in the folder `Tests/Traces/<folder>`: one JSON file for each trace, and the stored states in `States`.
package protocol TracedMachine: Machine {
    /// The name of the folder with the files of the machine.
    static var folder: String { get }
    /// The number of traces that must exist at least, so that lost files are noticed.
    static var fewestTraces: Int { get }

    /// Returns the commands, events and views of a trace.
    static func script(_ trace: Trace) throws -> TraceScript<Self>
}

extension Trace {
    /// The table of generations with the `readings` of the trace, in the form of the file of `PROFILES_FILE`.
    var generations: Generations {
        get throws {
            guard let readings = self[Generations.readings] else { return .standard }
            return try Generations(overriding: (.object([.init(Generations.readings, readings)]) as JSON).jsonBytes)
        }
    }
}

extension TracedMachine {
    private static var files: URL { Bundle.module.bundleURL.appendingPathComponent(folder) }

    /// The stored states of all versions.
    package static var fixtures: StateFixtures<Self> { StateFixtures(files.appendingPathComponent("States")) }

    /// Returns all golden traces, sorted by name.
    package static func traces() throws -> [Trace] { try Trace.all(in: files, atLeast: fewestTraces) }

    /// Plays a golden trace.
    ///
    /// - Returns: the player after the last step.
    /// - Throws: ``TraceFailed`` for the first failing step.
    @discardableResult
    package static func play(_ trace: Trace) throws -> TracePlayer<Self> {
        var player = TracePlayer(trace, try script(trace))
        try player.play()
        return player
    }
}
