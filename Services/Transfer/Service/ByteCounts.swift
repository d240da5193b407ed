import Telemetry

/// Counts the bytes of bodies while they stream.
struct ByteCounts: Sendable {
    /// The source or target of a body.
    enum Stream: String {
        /// `/content`.
        case content
        /// `/files` and `/uploads`.
        case uploads
        /// The files of apps, and the files that their tasks have received.
        case files
        /// The requests and responses of transfer attempts.
        case workers
    }

    let metrics: Metrics

    func received(_ count: Int, by stream: Stream) { note(count, "received", stream) }

    func sent(_ count: Int, by stream: Stream) { note(count, "sent", stream) }

    private func note(_ count: Int, _ direction: String, _ stream: Stream) {
        metrics.add(Double(count), to: .transferredBytes, ["direction": direction, "stream": stream.rawValue])
    }
}

extension Metric {
    static let transferredBytes = Metric(
        "dormouse_transfer_bytes_total", "Bytes of bodies received and sent, by direction and stream.", .counter)
    static let filesTrashed = Metric(
        "dormouse_transfer_files_trashed_total", "Unreferenced files moved to the trash, by folder.", .counter)
    static let sweepRefused = Metric(
        "dormouse_transfer_sweep_refused",
        "Unreferenced files that a sweep refused to move because there are too many, by folder.", .gauge)
}
