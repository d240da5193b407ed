import Foundation
import FetchMachine
import TestSupport
import Testing

@Suite(.ownThread) struct FetchTraces {
    @Test(arguments: try Trace.all(in: .module, atLeast: 44))
    func `every golden trace gives exactly its events`(_ trace: Trace) throws {
        var player = TracePlayer(trace, try .fetch(trace))
        try player.play()
    }
}
