import AsyncHTTPClient
import Contracts
import NIOHTTP1
import TransferCore

// Uploads that can be resumed (draft-ietf-httpbis-resumable-upload).
extension AttemptExchange {
    /// Sends all bytes of an upload, and reports the resource that the server creates for it.
    func create(
        _ request: FetchRequest, _ client: UploadClient, to reception: ResponseReceiver
    ) async throws -> Bool {
        let runner = runner
        // All interim responses to a request name the same resource.
        let (resources, resource) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingOldest(1))
        var fetch = fetch(client.creation(request))
        fetch.onInterim = { interim, url in
            guard let found = client.resource(in: interim, to: url), let origin = WebOrigin(url: found),
                runner.origins.mayFetch(origin)
            else { return }
            resource.yield(found)
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await found in resources {
                    try await runner.submit(.createUpload(runner.claim, url: found))
                    break
                }
            }
            let outcome: Result<Bool, any Error>
            do {
                outcome = .success(
                    try await run(fetch, to: reception) { response in
                        try client.check(Int(response.status.code), response.headers, appends: false)
                    })
            } catch { outcome = .failure(error) }
            resource.finish()
            // The resource is reported before the end of the attempt, so that the next attempt can resume.
            try await group.waitForAll()
            return try outcome.get()
        }
    }

    /// Asks the server how many bytes of an upload it has, and sends the rest.
    func resume(
        _ upload: UploadResource, _ request: FetchRequest, _ client: UploadClient, to reception: ResponseReceiver
    ) async throws -> Bool {
        var answer: HTTPClientResponse?
        try await fetch(client.retrieval(of: upload.url, like: request)).run { answer = $0 }
        guard let answer else { throw FetchFailure(.uploadNotReady) }
        let status = Int(answer.status.code)
        guard status < 500 else { throw FetchFailure(.uploadNotReady) }
        // The server has no such upload, or does not let the client see it.
        guard (200..<300).contains(status), let offset = client.offset(answer.headers) else {
            throw FetchFailure(.resourceChanged)
        }
        try await current(.resumeUpload(runner.claim, from: offset))
        if client.isComplete(answer.headers) == true {
            // The connection was lost after the last byte. The response to it is lost, and this one is the result.
            try await accept(answer, reception)
            return true
        }
        let rest = body?.rest(after: offset)
        return try await run(
            fetch(client.append(to: upload.url, rest, from: offset, like: request)), to: reception
        ) { response in
            try client.check(Int(response.status.code), response.headers, appends: true)
        }
    }
}
