import TransferCore
import MachineTesting
import Testing
import Traces

@Suite(.ownThread) struct TransferTraces {
    @Test(arguments: try TransferMachine.traces())
    func `every golden trace gives exactly its events`(_ trace: Trace) throws {
        try TransferMachine.play(trace)
    }
}
