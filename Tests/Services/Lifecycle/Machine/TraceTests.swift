import LifecycleCore
import MachineTesting
import Testing
import Traces

@Suite(.ownThread) struct LifecycleTraces {
    @Test(arguments: try LifecycleMachine.traces())
    func `a golden trace gives exactly its events`(_ trace: Trace) throws {
        try LifecycleMachine.play(trace)
    }
}
