import Contracts
import NIOHTTP1
import OrderedCollections
import Records
import TransferCore

/// The data that a worker needs to run an attempt.
struct AttemptAssignment: Record {
    var task: TransferTask
    var configuration = SessionConfiguration()
    /// The credentials of this session.
    var credentials: [HeldCredential] = []
    /// The shape of the device's network.
    var shape: NetworkShape?
    /// The fleet of the device.
    var fleet: String?

    init?(_ state: TransferMachine, _ taskKey: TaskKey) {
        guard let task = state.task(taskKey), let session = state[taskKey.sessionKey] else { return nil }
        self.task = task
        configuration = session.configuration
        credentials = session.credentials
        shape = state.network.shape
        fleet = state.fleet
    }

    /// Whether the attempt has ended because its bytes could not be stored.
    func couldNotWrite(_ claim: AttemptClaim) -> Bool {
        task.epoch == claim.epoch && task.error?.code == TransferFailure.cannotWriteToFile.code
    }

    /// The first requested byte of a download; 0 for the whole resource, and for an upload.
    var offset: Int { task.kind == .download ? task.attempt?.from ?? 0 : 0 }

    /// The request, without its body.
    var request: FetchRequest {
        var headers = HTTPHeaders()
        if let type = task.body?.contentType { headers.add(name: "Content-Type", value: type) }
        for (name, value) in configuration.httpAdditionalHeaders { headers.replaceOrAdd(name: name, value: value) }
        for (name, value) in task.request.headers { headers.replaceOrAdd(name: name, value: value) }
        // Ranges apply to the stored bytes, so the content must not be encoded.
        headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        if offset > 0, let validator = ResumeRule.validator(task.response) {
            headers.replaceOrAdd(name: "Range", value: "bytes=\(offset)-")
            headers.replaceOrAdd(name: "If-Range", value: validator)
        }
        return FetchRequest(
            url: task.request.url, method: HTTPMethod(rawValue: task.request.method), headers: headers)
    }
}
