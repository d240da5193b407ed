import Foundation
import PushMachine
import TestSupport
import Testing

@Suite(.ownThread) struct PushTraces {
    @Test(arguments: try Trace.all(in: .module, atLeast: 78))
    func `every golden trace has exactly its events`(_ trace: Trace) throws {
        var player = TracePlayer(trace, try .push(trace))
        try player.play()
    }
}
