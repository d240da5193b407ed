import Foundation
import TransferMachine
import TestSupport
import Testing

@Suite(.ownThread) struct TransferTraces {
    @Test(arguments: try Trace.all(in: .module, atLeast: 61))
    func `every golden trace gives exactly its events`(_ trace: Trace) throws {
        var player = TracePlayer(trace, try .transfer(trace))
        try player.play()
    }
}
