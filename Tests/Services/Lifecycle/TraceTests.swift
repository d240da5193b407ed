import Foundation
import LifecycleMachine
import TestSupport
import Testing

@Suite(.ownThread) struct LifecycleTraces {
    @Test(arguments: try Trace.all())
    func `a golden trace gives exactly its events`(_ trace: Trace) throws {
        var player = TracePlayer(trace, try .lifecycle(trace))
        try player.play()
    }
}

extension Trace {
    static func all() throws -> [Trace] { try all(in: .module, atLeast: 100) }
}
