public import Records

/// An HTTP request to a service.
public struct Call: Sendable, Equatable {
    public var service: ServiceName
    public var method: String
    /// The path as in the API description, with parameters in braces.
    public var route: String
    /// The values of the path parameters, in order.
    public var parameters: [String]
    public var body: JSON?
    /// The query, without the question mark.
    public var query = ""
    /// The documents of a body in NDJSON; nil for any other body.
    public var lines: [JSON]?
    /// The bytes of a body that is a file; nil for any other body.
    public var file: [UInt8]?

    public init(_ service: ServiceName, _ method: String, _ route: String, _ parameters: [String], _ body: JSON? = nil)
    {
        self.service = service
        self.method = method
        self.route = route
        self.parameters = parameters
        self.body = body
    }

    /// Creates a call whose body has a document on each line.
    public init(_ service: ServiceName, _ method: String, _ route: String, _ parameters: [String], lines: [JSON]) {
        self.init(service, method, route, parameters)
        self.lines = lines
    }

    /// The route with its parameters filled in, and the query. The parameters are identifiers,
    /// which need no escaping.
    public var path: String {
        var values = parameters.makeIterator()
        let path = route.split(separator: "/").map { part in
            "/" + (part.hasPrefix("{") ? values.next() ?? "" : String(part))
        }.joined()
        return query.isEmpty ? path : path + "?" + query
    }
}

/// The addresses of `transfer` for the transfers of apps.
public struct TransferAddresses: Sendable, Equatable {
    /// The credential of uploads; empty without authentication.
    public var credential = ""
    /// The URL of downloads.
    public var download = ""
    /// The URL that creates uploads.
    public var uploads = ""

    public init() {}
}

extension Action {
    /// The name of the background session of each app.
    static let session = "downloads"
    /// The name and the bytes of the file that an app uploads.
    static let video = "video"
    static let videoBytes = [UInt8](repeating: 7, count: 1 << 20)

    /// Returns the request that performs the action.
    public func call(from device: String, to transfer: TransferAddresses) -> Call {
        let root = "/v1/devices/{device}"
        let ofApp = root + "/apps/{app}"
        switch self {
        case .changeLocation(let app, let authorization):
            return Call(
                .lifecycle, "PUT", ofApp + "/settings", [device, app],
                ["locationAuthorization": .string(authorization)])
        case .monitorSignificantChanges(let app):
            return Call(.lifecycle, "PUT", ofApp + "/significant-location-changes", [device, app])
        case .startWaiting(let app, let interest): return interest.call(from: device, app)
        case .occur(let occurrence): return occurrence.call(from: device)
        case .report(let surroundings):
            return Call(.lifecycle, "PATCH", root + "/conditions", [device], surroundings.document)
        case .transition(let app, let event):
            return Call(.lifecycle, "POST", ofApp + "/transitions", [device, app], ["event": .string(event)])
        case .swipe(let app): return Call(.lifecycle, "DELETE", root + "/app-switcher/{app}", [device, app])
        case .look(let app): return Call(.lifecycle, "GET", ofApp, [device, app])
        case .acknowledge(let id):
            return Call(.push, "POST", root + "/notifications/{notification}/ack", [device, id])
        case .modify(let id):
            return Call(
                .push, "POST", root + "/notifications/{notification}/content", [device, id],
                ["body": "Something is new, and its text was decrypted"])
        case .reply(let id):
            return Call(
                .push, "POST", root + "/notifications/{notification}/response", [device, id],
                ["actionIdentifier": "reply", "userText": "On my way"])
        case .setCategories(let app):
            return Call(.push, "PUT", ofApp + "/notification-categories", [device, app], AppModel.categories)
        case .open(let id):
            return Call(.push, "POST", root + "/notifications/{notification}/opened", [device, id])
        case .keepAlive: return Call(.push, "POST", root + "/keep-alive", [device])
        case .completeCallback(let app, let callback, let session?):
            return Call(
                .transfer, "POST", ofApp + "/sessions/{session}/callbacks/{callback}/completion",
                [device, app, session, callback], [:])
        case .completeCallback(let app, let callback, nil):
            return Call(
                .lifecycle, "POST", ofApp + "/callbacks/{callback}/completion", [device, app, callback], [:])
        case .beginTask(let app, let name):
            return Call(.lifecycle, "POST", ofApp + "/tasks", [device, app], ["name": .string(name)])
        case .endTask(let app, let task):
            return Call(.lifecycle, "DELETE", ofApp + "/tasks/{task}", [device, app, task])
        case .completeWake(let app, let wake, let result):
            return Call(.lifecycle, "POST", ofApp + "/wakes/{wake}/completion", [device, app, wake], result)
        case .export(let app, let identifier):
            return Call(
                .fetch, "POST", ofApp + "/task-requests", [device, app],
                [
                    "identifier": .string(identifier), "kind": "continuedProcessing", "title": "Export",
                    "subtitle": "A film of the holidays",
                ])
        case .cancelExport(let app, let identifier):
            return Call(
                .fetch, "POST", ofApp + "/task-requests/{identifier}/user-cancellation", [device, app, identifier])
        case .reportProgress(let app, let wake, let part, let parts):
            return Call(
                .lifecycle, "PUT", ofApp + "/wakes/{wake}/progress", [device, app, wake],
                ["completedUnitCount": .int(part), "totalUnitCount": .int(parts)])
        case .openSession(let app):
            return Call(.transfer, "PUT", ofApp + "/sessions/{session}", [device, app, Self.session], [:])
        case .setInterval(let app, let interval):
            return Call(.fetch, "PUT", ofApp + "/minimum-interval", [device, app], interval.document)
        case .download(let app):
            return Call(
                .transfer, "POST", ofApp + "/sessions/{session}/downloads", [device, app, Self.session],
                ["url": .string(transfer.download), "resume": true])
        case .storeFile(let app):
            var call = Call(.transfer, "PUT", ofApp + "/files/{name}", [device, app, Self.video])
            call.file = Self.videoBytes
            return call
        case .upload(let app):
            let authorization: JSON =
                transfer.credential.isEmpty ? [:] : ["Authorization": .string("Bearer " + transfer.credential)]
            return Call(
                .transfer, "POST", ofApp + "/sessions/{session}/uploads", [device, app, Self.session],
                [
                    "file": .string(Self.video), "headers": authorization, "resume": true,
                    "url": .string(transfer.uploads),
                ])
        case .pauseUpload(let app, let task):
            return Call(
                .transfer, "POST", ofApp + "/sessions/{session}/tasks/{task}/cancel-by-producing-resume-data",
                [device, app, Self.session, String(task)])
        case .continueUpload(let app, let resumeData):
            return Call(
                .transfer, "POST", ofApp + "/sessions/{session}/uploads", [device, app, Self.session],
                ["resume": true, "resumeData": .string(resumeData)])
        case .answerChallenge(let app, let challenge):
            return Call(
                .transfer, "POST", ofApp + "/challenges/{challenge}", [device, app, challenge],
                ["disposition": "performDefaultHandling"])
        case .register(let app):
            return Call(.push, "PUT", ofApp + "/registration", [device, app], ["environment": "sandbox"])
        case .joinChannel(let app):
            return Call(
                .push, "PUT", ofApp + "/registration", [device, app],
                ["environment": "sandbox", "kind": "pushtotalk"])
        case .requestAuthorization(let app, let isAllowed):
            return Call(
                .lifecycle, "POST", ofApp + "/authorization-requests", [device, app],
                ["options": ["alert", "badge", "sound"], "answer": isAllowed ? "allow" : "deny"])
        }
    }
}
