import Contracts
import HTTPKit
import OrderedCollections
import Records
import Timeline
import TransferCore

/// `downloadTask(with:)` or `downloadTask(withResumeData:)`. It has either `url` or `resumeData`.
struct DownloadRequest: Record, Equatable {
    var countOfBytesClientExpectsToReceive: Int?
    var countOfBytesClientExpectsToSend: Int?
    var earliestBeginDate: Instant?
    /// The header fields of the request. The log contains neither `Authorization` nor `Cookie`.
    var headers: Defaulted<OrderedDictionary<String, String>> = [:]
    /// Whether to create a data task, which has no file: `dataTask(with:)`.
    var isDataTask: Defaulted<Bool> = false
    var priority: Double?
    /// Whether the new task is resumed at once. Otherwise it is suspended, as on iOS.
    var resume: Defaulted<Bool> = false
    var resumeData: String?
    var url: String?

    enum Constraints {
        static let countOfBytesClientExpectsToReceive: Constraint<Int> = .range(0...Int.max)
        static let countOfBytesClientExpectsToSend: Constraint<Int> = .range(0...Int.max)
        static let earliestBeginDate: Constraint<Instant> = .documented
        static let headers: Constraint<OrderedDictionary<String, String>> = .taskHeaders
        static let priority: Constraint<Double> = .range(0...1)
        static let resumeData: Constraint<String> = .text(1...64)
        static let url: Constraint<String> = .text(1...2048)
    }

    /// - Throws: `invalid_document` if it has both `url` and `resumeData`, or neither.
    func command(app: String, session: String, secretHeaders: String?) throws(Problem) -> TransferCommand {
        let headers = headers.separated.open
        switch (url, resumeData) {
        case (let url?, nil):
            var request = TransferRequest(url: url)
            request.headers = headers
            request.secretHeaders = secretHeaders
            request.earliestBeginDate = earliestBeginDate
            request.priority = priority ?? request.priority
            request.countOfBytesClientExpectsToReceive = countOfBytesClientExpectsToReceive
            request.countOfBytesClientExpectsToSend = countOfBytesClientExpectsToSend
            return .download(app: app, session: session, request, isDataTask: isDataTask, resumes: resume)
        case (nil, let resumeData?):
            guard !isDataTask else { throw .invalidDocument.with(detail: "isDataTask: resume data is of a download") }
            guard headers.isEmpty else {
                throw .invalidDocument.with(
                    detail:
                        "headers: a resumed download has the headers of its first request; only Authorization and "
                        + "Cookie are sent again")
            }
            return .downloadResuming(
                app: app, session: session, resumeData: resumeData,
                RequestChanges(
                    earliestBeginDate: earliestBeginDate, priority: priority, secretHeaders: secretHeaders),
                resumes: resume)
        default: throw .invalidDocument.with(detail: "either url or resumeData is required")
        }
    }
}

/// `uploadTask(with:fromFile:)` or `uploadTask(withResumeData:)`. It has either `url` and `file`, or `resumeData`.
struct UploadRequest: Record, Equatable {
    var countOfBytesClientExpectsToReceive: Int?
    var countOfBytesClientExpectsToSend: Int?
    var earliestBeginDate: Instant?
    /// The name of a file of the app, or an upload: `/files/{upload}`, `/uploads/{upload}` or its URL.
    var file: String?
    var headers: Defaulted<OrderedDictionary<String, String>> = [:]
    var method: Defaulted<String> = "POST"
    var priority: Double?
    /// Whether the new task is resumed at once. Otherwise it is suspended, as on iOS.
    var resume: Defaulted<Bool> = false
    var resumeData: String?
    var url: String?

    enum Constraints {
        static let countOfBytesClientExpectsToReceive: Constraint<Int> = .range(0...Int.max)
        static let countOfBytesClientExpectsToSend: Constraint<Int> = .range(0...Int.max)
        static let earliestBeginDate: Constraint<Instant> = .documented
        static let file: Constraint<String> = .text(1...1024)
        static let headers: Constraint<OrderedDictionary<String, String>> = .taskHeaders
        static let method: Constraint<String> = Constraint("must be POST, PUT or PATCH") {
            ["POST", "PUT", "PATCH"].contains($0)
        }
        static let priority: Constraint<Double> = .range(0...1)
        static let resumeData: Constraint<String> = .text(1...64)
        static let url: Constraint<String> = .text(1...2048)
    }

    /// - Parameter source: the bytes of an upload that is not resumed.
    /// - Throws: `invalid_document` unless it has either `url` and `file`, or `resumeData`.
    func command(
        app: String, session: String, _ source: UploadSource?, secretHeaders: String?
    ) throws(Problem) -> TransferCommand {
        switch (url, source, resumeData) {
        case (let url?, let source?, nil):
            return .upload(
                app: app, session: session, transferRequest(url, secretHeaders: secretHeaders), source, resumes: resume)
        case (nil, nil, let resumeData?):
            guard headers.separated.open.isEmpty else {
                throw .invalidDocument.with(
                    detail:
                        "headers: a resumed upload has the headers of its first request; only Authorization and "
                        + "Cookie are sent again")
            }
            return .uploadResuming(
                app: app, session: session, resumeData: resumeData,
                RequestChanges(
                    earliestBeginDate: earliestBeginDate, priority: priority, secretHeaders: secretHeaders),
                resumes: resume)
        default: throw .invalidDocument.with(detail: "either url and file, or resumeData is required")
        }
    }

    private func transferRequest(_ url: String, secretHeaders: String?) -> TransferRequest {
        var request = TransferRequest(url: url)
        request.method = method
        request.headers = headers.separated.open
        request.secretHeaders = secretHeaders
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

    enum Constraints {
        static let name: Constraint<String> = .identifier
    }
}

extension Constraint where T == Instant {
    fileprivate static var documented: Constraint<Instant> {
        Constraint("must be in the years 1970 to 9999") { Instant.documented.contains($0) }
    }
}

/// The report that a callback has returned.
struct CallbackCompletion: Record, Equatable {
    /// The task of the callback; by default the callback in progress.
    var task: Int?

    enum Constraints {
        static let task: Constraint<Int> = .range(1...Int.max)
    }
}
