import FetchCore
import MachineTesting
import Testing
import Traces

@Suite(.ownThread) struct FetchTraces {
    @Test(arguments: try FetchMachine.traces())
    func `every golden trace gives exactly its events`(_ trace: Trace) throws {
        try FetchMachine.play(trace)
    }
}
