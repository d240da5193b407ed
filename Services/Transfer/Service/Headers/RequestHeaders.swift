import Contracts
import Foundation
import HTTPKit
import Machines
import TransferCore

/// Keeps the secret header fields of requests beside the log while their tasks exist.
struct RequestHeaders: Sendable {
    let store: TransferStore

    /// Stores secret fields and runs the command that makes a state refer to them. Removes them if the command is refused
    /// or repeated.
    ///
    /// - Parameters:
    ///   - secret: the fields; nil if the request has none.
    ///   - command: gets the id of the stored fields, and reports that a state refers to them. If the commit fails, the
    ///     sweep finds them.
    func keep<Answer>(
        _ secret: SecretHeaders?, _ call: Call, _ command: (String?, Naming) async throws -> Answer
    ) async throws -> Answer {
        let naming = Naming()
        guard let secret else { return try await command(nil, naming) }
        let (device, id) = (try call.device, UUID().lowercased)
        // Stored before the command, so that a worker finds them when the attempt begins.
        try await store.store(secret, for: device, app: try call.app, id)
        do {
            let answer = try await command(id, naming)
            if !naming.isDone { await discard(device, id) }
            return answer
        } catch {
            if !naming.isDone { await discard(device, id) }
            throw error
        }
    }

    /// Removes fields at once, also if the request was cancelled. If this fails, the sweep removes them later.
    private func discard(_ device: AggregateKey, _ id: String) async {
        // A query of a cancelled task does not run. This task is not cancelled with the request, captures only values,
        // and ends before the request does. A command that was cancelled has not run, so no state has the id.
        await Task { [store] in try? await store.removeHeaders(device, id) }.value
    }
}
