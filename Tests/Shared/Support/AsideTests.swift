import Dispatch
import Testing

@testable import TestSupport

@Suite(.aside) struct AsideTests {
    @Test func aTestThatComputesRunsOnAThreadOfItsOwn() {
        dispatchPrecondition(condition: .onQueue(Aside.executor.queue))
    }

    @Test func soDoesOneThatIsAsynchronousAfterItWaited() async {
        await Task.yield()
        dispatchPrecondition(condition: .onQueue(Aside.executor.queue))
    }
}
