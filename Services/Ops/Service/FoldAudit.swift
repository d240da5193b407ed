import Contracts
import Crypto
import Machines
import Postgres
import Records
import Runtime
import Timeline

extension OpsStore {
    /// Folds the events of up to `count` randomly chosen aggregates, and compares the results with the stored states.
    func audit<M: Machine>(_ type: M.Type, partition: Int, count: Int) async throws -> FoldCheck {
        var check = FoldCheck()
        check.service = M.name
        let travel = travel(type)
        let wasNewer = try await newestVersion(of: M.name) > M.version
        let digests = try await digests(of: M.name, partition: partition, count: count)
        // A state of another version has another digest. The service will upgrade it.
        for (key, digest, version, offset, events, deadline) in digests where version == M.version {
            do {
                let past = try await travel.aggregate(key, partition: partition, at: .offset(offset))
                let isSame =
                    past.map { Array(SHA256.hash(data: $0.aggregate.state.binary)) } == digest
                    && past?.aggregate.eventCount == events
                    && isDeadline(deadline, of: past?.aggregate.nextDeadline, mayBeEarlier: wasNewer)
                if !isSame { check.differing.append(key.description) }
                check.checked += 1
            } catch is BeyondRetention {}
        }
        return check
    }

    /// A newer program that wrote the state in this form may have stored its own, earlier deadline. It causes only a look.
    private func isDeadline(_ stored: Instant?, of folded: Instant?, mayBeEarlier: Bool) -> Bool {
        if stored == folded { return true }
        guard mayBeEarlier, let stored else { return false }
        return folded.map { stored < $0 } ?? true
    }
}

/// The result of a fold audit.
struct FoldCheck: Record {
    var checked = 0
    /// The keys whose stored state differs from the fold of the events.
    var differing: [String] = []
    var service = ""
}
