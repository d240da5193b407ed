import Contracts
import OrderedCollections
import Records
import ServiceKit
import Timeline
import TransferMachine

/// `downloadTask(with:)` or `downloadTask(withResumeData:)`. It has either `url` or `resumeData`.
struct DownloadRequest: Record, Equatable {
    var url: String?
    var headers: OrderedDictionary<String, String> = [:]
    var earliestBeginDate: Instant?
    var priority: Double?
    var countOfBytesClientExpectsToReceive: Int?
    var countOfBytesClientExpectsToSend: Int?
    var resumeData: String?

    init() {}

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("countOfBytesClientExpectsToReceive", &countOfBytesClientExpectsToReceive, .range(0...Int.max))
        fields.omittable("countOfBytesClientExpectsToSend", &countOfBytesClientExpectsToSend, .range(0...Int.max))
        fields.visit("earliestBeginDate", &earliestBeginDate, .omittable, .documented)
        fields.defaulted("headers", &headers, .requestHeaders)
        fields.omittable("priority", &priority, .range(0...1))
        fields.omittable("resumeData", &resumeData, .text(1...64))
        fields.omittable("url", &url, .text(1...2048))
    }

    /// - Throws: `invalid_document` if it has both `url` and `resumeData`, or neither.
    func command(app: String, session: String) throws(Problem) -> TransferCommand {
        switch (url, resumeData) {
        case (let url?, nil):
            var request = TransferRequest(url: url)
            request.headers = headers
            request.earliestBeginDate = earliestBeginDate
            request.priority = priority ?? request.priority
            request.countOfBytesClientExpectsToReceive = countOfBytesClientExpectsToReceive
            request.countOfBytesClientExpectsToSend = countOfBytesClientExpectsToSend
            return .download(app: app, session: session, request)
        case (nil, let resumeData?):
            guard headers.isEmpty else {
                throw .invalidDocument.because("headers: a resumed download has the headers of its first request")
            }
            return .downloadResuming(
                app: app, session: session, resumeData: resumeData,
                RequestChanges(earliestBeginDate: earliestBeginDate, priority: priority))
        default: throw .invalidDocument.because("either url or resumeData is required")
        }
    }
}

/// `uploadTask(with:fromFile:)`.
struct UploadRequest: Record, Equatable {
    var url = ""
    var method = "POST"
    var headers: OrderedDictionary<String, String> = [:]
    /// The name of a file of the app, or an upload: `/files/{upload}`, `/uploads/{upload}` or its URL.
    var file = ""
    var earliestBeginDate: Instant?
    var priority: Double?
    var countOfBytesClientExpectsToReceive: Int?
    var countOfBytesClientExpectsToSend: Int?

    init() {}

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("countOfBytesClientExpectsToReceive", &countOfBytesClientExpectsToReceive, .range(0...Int.max))
        fields.omittable("countOfBytesClientExpectsToSend", &countOfBytesClientExpectsToSend, .range(0...Int.max))
        fields.visit("earliestBeginDate", &earliestBeginDate, .omittable, .documented)
        fields.field("file", &file, .text(1...1024))
        fields.defaulted("headers", &headers, .requestHeaders)
        fields.defaulted(
            "method", &method, Rule("must be POST, PUT or PATCH") { ["POST", "PUT", "PATCH"].contains($0) })
        fields.omittable("priority", &priority, .range(0...1))
        fields.field("url", &url, .text(1...2048))
    }

    var transferRequest: TransferRequest {
        var request = TransferRequest(url: url)
        request.method = method
        request.headers = headers
        request.earliestBeginDate = earliestBeginDate
        request.priority = priority ?? request.priority
        request.countOfBytesClientExpectsToReceive = countOfBytesClientExpectsToReceive
        request.countOfBytesClientExpectsToSend = countOfBytesClientExpectsToSend
        return request
    }
}

/// The claim of a download's file by its app.
struct ClaimRequest: Record, Equatable {
    /// The name of the app's file. An existing file of this name is replaced.
    var name = ""

    init() {}

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("name", &name, .identifier) }
}

extension Rule where T == Instant? {
    fileprivate static var documented: Rule<Instant?> {
        Rule("must be in the years 1970 to 9999") { $0.map { Instant.documented.contains($0) } ?? true }
    }
}

/// The report that a callback has returned.
struct CallbackCompletion: Record, Equatable {
    /// The task of the callback; by default the callback in progress.
    var task: Int?

    init() {}

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.omittable("task", &task, .range(1...Int.max)) }
}
