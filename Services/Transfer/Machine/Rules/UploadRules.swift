import Contracts
import Machines
import OrderedCollections
import Records

// Uploads that continue after an interruption (draft-ietf-httpbis-resumable-upload; Apple, "Pausing and resuming
// uploads"). The server names a resource for the upload in the interim response 104. Later attempts ask this resource for
// the number of bytes that it has, and send the rest.
extension Decision<TransferMachine> {
    /// Returns the version of the draft by which an upload can be resumed; nil if it begins anew.
    func uploadDraft(of task: TransferTask, in key: SessionKey) -> UploadDraftVersion? {
        guard task.kind == .upload, let version = policy.generations[state.profile].uploadDraft else { return nil }
        if task.upload != nil { return version }
        // The app has its own protocol, which the fields of the system would contradict.
        let fields =
            Array(task.request.headers.keys) + Array(state[key]?.configuration.httpAdditionalHeaders.keys ?? [])
        return fields.contains { TransferRequest.isOfUploadProtocol($0) } ? nil : version
    }

    /// Notes the resource of an upload. A server names it once for each attempt; later names have no effect.
    mutating func createUpload(_ claim: AttemptClaim, _ url: String) throws(TransferRefusal) {
        let task = try claimed(claim)
        guard task.attempt?.uploadDraft != nil, task.upload == nil, WebOrigin(url: url) != nil,
            url.utf8.count <= policy.uploadURLBytes, !isCrowded(by: url.utf8.count)
        else { return }
        emit(
            .uploadCreated(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.url = url
                }))
    }

    /// Continues an upload after the bytes that its server has. If the server has more bytes than the file, the upload
    /// begins anew: "the upload MUST be considered a failure" (the draft, "Offset Retrieval").
    mutating func resumeUpload(_ claim: AttemptClaim, from offset: Int) throws(TransferRefusal) {
        let task = try claimed(claim)
        guard task.upload != nil else { throw .staleAttempt }
        guard let length = task.body?.length, (0...length).contains(offset) else {
            return endAttempt(claim.taskKey, .resourceChanged)
        }
        emit(
            .uploadResumed(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.from = offset
                }))
    }
}

extension TransferRequest {
    /// Whether a header field belongs to a protocol of resumable uploads: the draft, or tus.
    fileprivate static func isOfUploadProtocol(_ field: String) -> Bool {
        let field = field.lowercased()
        return field.hasPrefix("upload-") || field == "tus-resumable"
    }
}
