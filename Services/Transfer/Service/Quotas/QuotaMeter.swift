import HTTPKit
import Machines
import Telemetry
import TransferCore

/// Counts what the quotas refuse.
struct QuotaMeter: Sendable {
    /// A quota, as its metric names it.
    enum Quota: String, CaseIterable {
        case deviceFiles = "device_files"
        case downloadSize = "download_size"
        case fleetFiles = "fleet_files"
        case uploads
    }

    private let metrics: Metrics

    init(_ metrics: Metrics) {
        self.metrics = metrics
        for quota in Quota.allCases { metrics.add(0, to: .quotaRefusals, ["quota": quota.rawValue]) }
    }

    func refused(by quota: Quota) { metrics.add(to: .quotaRefusals, ["quota": quota.rawValue]) }

    /// Runs a request, and counts its refusal by a quota.
    func watch<T>(_ body: () async throws -> T) async throws -> T {
        do { return try await body() } catch {
            switch (error as? Problem)?.code ?? (error as? TransferRefusal)?.code {
            case Problem.uploadQuota.code: refused(by: .uploads)
            case TransferRefusal.fileQuotaExceeded.code: refused(by: .deviceFiles)
            case Problem.fleetFileQuota.code: refused(by: .fleetFiles)
            default: break
            }
            throw error
        }
    }
}

extension Metric {
    static let quotaRefusals = Metric(
        "dormouse_transfer_quota_refusals_total", "Requests and tasks that a quota of bytes has refused, by quota.",
        .counter)
}
