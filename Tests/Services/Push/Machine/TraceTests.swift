import PushCore
import MachineTesting
import Testing
import Traces

@Suite(.ownThread) struct PushTraces {
    @Test(arguments: try PushMachine.traces())
    func `every golden trace has exactly its events`(_ trace: Trace) throws {
        try PushMachine.play(trace)
    }
}
