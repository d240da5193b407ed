import Machines
import PushMachine
import Records
import TestSupport
import Testing

@Suite(.aside) struct PushTraces {
    @Test func everyGoldenTraceComesOutExactly() throws {
        let traces = try Trace.all()
        #expect(traces.count >= 20)
        for (name, trace) in traces {
            #expect(!trace.source.isEmpty, "\(name) names its source")
            var player = try TracePlayer(trace, name: name)
            for (index, step) in trace.steps.enumerated() { try player.play(step, number: index + 1) }
            #expect(try player.runtime.foldCheck().isEmpty, "\(name): the state is the fold of its events")
        }
    }
}
