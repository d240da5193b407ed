import Synchronization
import Telemetry
import Testing

@Suite struct MetricsTests {
    @Test func `histograms are cumulative and labels are escaped`() {
        let metrics = Metrics()
        let wait = Metric("wait_seconds", "Waiting.", .histogram([0.5, 1]))
        for seconds in [0.2, 0.7, 3] { metrics.observe(seconds, in: wait, ["of": "a\"b"]) }
        metrics.add(2, to: Metric("things_total", "Things.", .counter))
        #expect(
            metrics.text == #"""
                # HELP things_total Things.
                # TYPE things_total counter
                things_total 2
                # HELP wait_seconds Waiting.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{of="a\"b",le="0.5"} 1
                wait_seconds_bucket{of="a\"b",le="1"} 2
                wait_seconds_bucket{of="a\"b",le="+Inf"} 3
                wait_seconds_sum{of="a\"b"} 3.9
                wait_seconds_count{of="a\"b"} 3

                """#)
    }

    @Test func `a gauge can get its value at each output`() {
        let metrics = Metrics()
        let level = Metric("level", "The level.", .gauge)
        let readings = Atomic(0)
        metrics.beforeOutput { metrics in
            metrics.set(level, to: Double(readings.add(1, ordering: .relaxed).newValue), ["of": "a"])
        }
        for reading in 1...2 { #expect(metrics.text.hasSuffix("level{of=\"a\"} \(reading)\n")) }
    }

    @Test func `a kept series and the look-up by labels change the same value`() {
        let metrics = Metrics()
        let things = Metric("things_total", "Things.", .counter)
        let kept = metrics.series(of: things, ["kind": "a"])
        kept.add()
        metrics.add(2, to: things, ["kind": "a"])
        metrics.add(to: things, ["kind": "b"])
        #expect(kept === metrics.series(of: things, ["kind": "a"]))
        #expect(metrics.text.hasSuffix("things_total{kind=\"a\"} 3\nthings_total{kind=\"b\"} 1\n"))
    }
}
