import Foundation
import LifecycleMachine
import TestSupport
import Testing

@Suite(.aside) struct LifecycleTraces {
    @Test(arguments: try Trace.all(in: .module, atLeast: 107))
    func everyGoldenTraceComesOutExactly(_ trace: Trace) throws {
        var player = TracePlayer(trace, try .lifecycle(trace))
        try player.play()
    }
}
