import Contracts
import Foundation
import HTTPTypes
import NIOHTTP1
import TransferCore

/// The requests of a client of draft-ietf-httpbis-resumable-upload, and the answers to them.
struct UploadClient: Sendable {
    let version: UploadDraftVersion

    /// Returns the request that creates an upload and sends all of its bytes.
    func creation(_ request: FetchRequest) -> FetchRequest {
        var request = request
        add(to: &request, completes: true)
        return request
    }

    /// Returns the request for the offset of an upload.
    func retrieval(of url: String, like request: FetchRequest) -> FetchRequest {
        var next = self.request(.HEAD, url, like: request)
        add(to: &next)
        return next
    }

    /// Returns the request that appends the rest of an upload.
    func append(to url: String, _ rest: FileBody?, from offset: Int, like request: FetchRequest) -> FetchRequest {
        var next = self.request(.PATCH, url, like: request)
        next.body = rest
        add(to: &next, completes: true)
        next.headers.replaceOrAdd(name: "Upload-Offset", value: String(offset))
        if version.knowsPartialUpload {
            next.headers.replaceOrAdd(name: "Content-Type", value: DraftRoutes.mediaType)
        }
        return next
    }

    /// Returns the URL of the resource that an interim response names; nil if it names none, or speaks another version.
    func resource(in interim: HTTPResponseHead, to url: String) -> String? {
        guard interim.status.code == 104,
            interim.headers.first(name: HTTPField.Name.draftVersion.rawName) == version.rawValue,
            let location = interim.headers.first(name: "Location"), !location.isEmpty
        else { return nil }
        return URL(string: location, relativeTo: URL(string: url))?.absoluteString
    }

    /// Returns `Upload-Offset`; nil if it is missing or invalid.
    func offset(_ headers: HTTPHeaders) -> Int? { headers.first(name: "Upload-Offset").flatMap(naturalNumber) }

    /// Whether the server has the whole upload; nil if it does not say so.
    func isComplete(_ headers: HTTPHeaders) -> Bool? {
        version.completes(headers.first(name: version.completion.name.rawName))
    }

    /// Checks the answer to a request that sends bytes.
    ///
    /// - Throws: `resourceChanged` if the server has no such upload, `uploadNotReady` if it has not taken all bytes. Other
    ///   answers are the response of the upload, also errors.
    func check(_ status: Int, _ headers: HTTPHeaders, appends: Bool) throws(FetchFailure) {
        if isComplete(headers) == true { return }
        switch status {
        case 200..<300 where isComplete(headers) == false: throw FetchFailure(.uploadNotReady)
        case 404 where appends, 410 where appends: throw FetchFailure(.resourceChanged)
        // The offset does not match: the server has got bytes since it named the offset.
        case 409 where appends: throw FetchFailure(.uploadNotReady)
        default: return
        }
    }

    private func request(_ method: HTTPMethod, _ url: String, like first: FetchRequest) -> FetchRequest {
        // As after a redirect, credentials go to the same origin only.
        var next = first.following(
            Redirect(
                status: 307, method: method.rawValue, url: url,
                crossesOrigins: WebOrigin(url: url) != WebOrigin(url: first.url)))
        next.dropBody()
        return next
    }

    private func add(to request: inout FetchRequest, completes: Bool = false) {
        request.headers.replaceOrAdd(name: HTTPField.Name.draftVersion.rawName, value: version.rawValue)
        if completes {
            request.headers.replaceOrAdd(name: version.completion.name.rawName, value: version.completion.yes)
        }
    }
}
