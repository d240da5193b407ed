import Records

/// Sends the requests of the devices, one after another. Several workers run concurrently.
struct Worker: Sendable {
    let pool: DevicePool
    let client: SuiteClient
    let statistics: RunStatistics
    let transfer: TransferAddresses

    func run() async throws(CancellationError) {
        while let job = await pool.next() {
            let call = await pool.call(of: job, to: transfer)
            let reply = try await client.attempt(call, idempotencyKey: job.idempotencyKey)
            await handle(reply, job, call)
        }
    }

    private func handle(_ reply: Reply, _ job: Job, _ call: Call) async {
        statistics.note { $0.requests += 1 }
        switch reply {
        case .later(_, let after):
            statistics.note { $0.retries += 1 }
            guard await !pool.tryAgain(job, call.service, after: after) else { return }
            statistics.note { $0.errors += 1 }
            await pool.finish(job, call.service, .failed)
        case .answered(let status, let document, let position, _):
            let outcome = ResponseCheck(client: client, statistics: statistics).outcome(
                status, document, position, of: call)
            if case .done = outcome { statistics.done(job.action, document) }
            await pool.finish(job, call.service, outcome)
        }
    }
}

/// Classifies responses, and reports forbidden ones.
struct ResponseCheck: Sendable {
    let client: SuiteClient
    let statistics: RunStatistics

    func outcome(
        _ status: Int, _ document: JSON, _ position: Position?, of call: Call
    ) -> Outcome {
        let name = "\(call.service.rawValue) \(call.method) \(call.route)"
        if (200...299).contains(status), client.documentation.allows(status, to: call) {
            return .done(document, asOf: position?.offset)
        }
        let code = document["code"]?.string ?? String(status)
        if !client.documentation.offers(call), status == 404 || status == 405 {
            statistics.note { _ = $0.notOffered.insert(name) }
            return .refused("not_offered")
        }
        guard client.documentation.allows(status, to: call) else {
            statistics.violation("\(name) answered \(status) \(code)")
            return .failed
        }
        statistics.note {
            $0.refusals[code, default: 0] += 1
            // A refused document or credential is an error of the simulator or the suite.
            if [400, 401, 403, 413, 415, 422].contains(status) { $0.errors += 1 }
        }
        return .refused(code)
    }
}
