import Synchronization

/// The value of one metric with one set of labels.
public final class MetricSeries: Sendable {
    struct Sample {
        var value = 0.0
        /// Histograms: the number of observations in each bucket, not yet cumulative.
        var buckets: [Int] = []
        var count = 0
    }

    private let bounds: [Double]
    private let sample: Mutex<Sample>

    init(_ kind: Metric.Kind) {
        if case .histogram(let bounds) = kind { self.bounds = bounds } else { bounds = [] }
        sample = Mutex(Sample(buckets: Array(repeating: 0, count: bounds.count)))
    }

    var current: Sample { sample.withLock { $0 } }

    /// Adds to a counter or a gauge.
    public func add(_ amount: Double = 1) { sample.withLock { $0.value += amount } }

    /// Sets a gauge.
    public func set(_ value: Double) { sample.withLock { $0.value = value } }

    /// Records an observation in a histogram.
    public func observe(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 }
        sample.withLock { sample in
            if let bucket { sample.buckets[bucket] += 1 }
            sample.value += value
            sample.count += 1
        }
    }
}
