import Dispatch
import Testing

@testable import MachineTesting

@Suite(.ownThread) struct OwnThreadTests {
    @Test func `a synchronous test runs on its own thread`() {
        dispatchPrecondition(condition: .onQueue(OwnThread.executor.queue))
    }

    @Test func `an asynchronous test stays on its own thread after a suspension`() async {
        await Task.yield()
        dispatchPrecondition(condition: .onQueue(OwnThread.executor.queue))
    }
}
