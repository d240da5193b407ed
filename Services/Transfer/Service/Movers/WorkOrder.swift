import Contracts
import NIOHTTP1
import OrderedCollections
import Records
import TransferMachine

/// What a mover needs to know to carry out an attempt.
struct WorkOrder: Record {
    var task = TransferTask()
    var configuration = SessionConfiguration()
    /// What the app has answered challenges of this session with.
    var credentials: [HeldCredential] = []
    /// Of the device's network.
    var shape: NetworkShape?

    init() {}

    init?(_ state: TransferMachine, _ place: TaskPlace) {
        guard let task = state.task(place), let session = state.sessions[place.session] else { return nil }
        self.task = task
        configuration = session.configuration
        credentials = session.credentials
        shape = state.network.shape
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("task", &task)
        fields.field("configuration", &configuration)
        fields.field("credentials", &credentials)
        fields.omittable("shape", &shape)
    }

    /// From which byte on the attempt asks for; 0 for the whole.
    var offset: Int { task.attempt?.from ?? 0 }

    /// The request, without its body.
    var request: FetchRequest {
        var headers = HTTPHeaders()
        if let type = task.body?.contentType { headers.add(name: "Content-Type", value: type) }
        for (name, value) in configuration.httpAdditionalHeaders { headers.replaceOrAdd(name: name, value: value) }
        for (name, value) in task.request.headers { headers.replaceOrAdd(name: name, value: value) }
        // Ranges are of what is stored, so it must come as it is.
        headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        if offset > 0, let validator = ResumeRule.validator(task.response) {
            headers.replaceOrAdd(name: "Range", value: "bytes=\(offset)-")
            headers.replaceOrAdd(name: "If-Range", value: validator)
        }
        return FetchRequest(
            url: task.request.url, method: HTTPMethod(rawValue: task.request.method), headers: headers)
    }
}
