import AsyncHTTPClient
import Contracts
import HTTPKit
import HTTPTypes
import Machines
import NIOHTTP1
import Records
import TestSupport
import TransferCore

@testable import TransferService

extension Door {
    private static let (app, session) = (DoorSuite.app, DoorSuite.session)

    static let transfer: [Door] = [
        .rest(
            SessionRequest.self,
            [
                "process": "appExtension", "sharedContainerIdentifier": "group.a",
                "isDiscretionary": true, "allowsCellularAccess": false, "sessionSendsLaunchEvents": true,
                "timeoutIntervalForRequest": 30.5, "timeoutIntervalForResource": 3600,
                "httpMaximumConnectionsPerHost": 4, "httpAdditionalHeaders": ["X-A": "é"],
            ], \.transfer
        ) { .openSession(app: app, session: session, $0.configuration, by: $0.process) },
        .rest(RedirectAnswer.self, ["disposition": "refuse"], \.transfer) {
            .answerRedirect(DoorSuite.task, $0.disposition)
        },
        .rest(SystemCancellation.self, ["reason": "backgroundUpdatesDisabled"], \.transfer) {
            .cancelBySystem(DoorSuite.task, $0.reason)
        },
        .rest(TransferService.CallbackCompletion.self, ["task": 1], \.transfer) {
            .returnFromCallback(app: app, session: session, task: $0.task)
        },
        .rest(
            DownloadRequest.self,
            [
                "url": "https://files.example/a?b=c", "headers": ["X-A": "b", "Authorization": "Bearer c"],
                "priority": 0.5,
                "earliestBeginDate": "2025-06-16T10:00:00.000Z", "countOfBytesClientExpectsToReceive": 1000,
                "countOfBytesClientExpectsToSend": 10,
            ], \.transfer
        ) { try $0.command(app: app, session: session, secretHeaders: $0.headers.separated.secret.map { _ in "h" }) },
        .rest(
            UploadRequest.self,
            [
                "url": "https://files.example/up", "method": "PUT", "file": "film", "headers": ["X-A": "b"],
                "priority": 1, "countOfBytesClientExpectsToSend": 10,
            ], \.transfer
        ) {
            try $0.command(
                app: app, session: session, $0.file.map { _ in .body(AppFile()) },
                secretHeaders: $0.headers.separated.secret.map { _ in "h" })
        },
        .rest(ClaimRequest.self, ["name": "film"], \.transfer) { .claim(DoorSuite.task, name: $0.name) },
        Door(
            "transfer.ChallengeAnswer",
            ["disposition": "useCredential", "credential": ["user": "u", "password": "p"]]
        ) { document, suite, _ in
            let answer = try ChallengeAnswer(received: document)
            try answer.requireSense()
            if let credential = answer.credential {
                let stored = try CredentialDocument(jsonBytes: credential.jsonBytes)
                guard stored == credential else { throw DoorFault("the credential changes in a round trip") }
            }
            var challenge = AuthenticationChallenge()
            challenge.host = "files.example"
            try suite.submit(.challenge(DoorSuite.claim, challenge), \.transfer)
            guard let pending = suite.transfer.state(DoorSuite.key).task(DoorSuite.task)?.challenge else { return }
            try suite.submit(
                .answerChallenge(app: app, id: pending.id, answer.disposition, credential: "c"), \.transfer)
        },
        Door(
            "transfer.DelayedRequestAnswer",
            [
                "disposition": "useNewRequest",
                "request": ["url": "https://files.example/b", "headers": ["X-A": "b", "Authorization": "Bearer c"]],
            ]
        ) { document, suite, _ in
            let answer = try DelayedRequestAnswer(received: document)
            try answer.requireSense()
            let secret = answer.request?.headers.separated.secret.map { _ in "h" }
            try suite.submit(
                .answerDelayedRequest(
                    DoorSuite.delayedTask, answer.disposition, answer.request?.newRequest(secretHeaders: secret)),
                \.transfer)
        },
        Door("an origin's answer", [:]) { _, suite, documents in
            var headers = HTTPHeaders()
            for name in ["ETag", "Last-Modified", "Content-Type", "Content-Length", "Content-Range", "Date"] {
                guard documents.below(2) == 0 else { continue }
                headers.add(name: name, value: String(decoding: documents.nextHeaderValue(), as: UTF8.self))
            }
            let answer = HTTPClientResponse(
                status: .init(statusCode: documents.pick([200, 204, 206, 304, 404, 416, 503])), headers: headers)
            let head = ResponseHead(answer, askedForRange: documents.below(2) == 0)
            try suite.submit(.receiveResponse(DoorSuite.claim, head), \.transfer)
        },
        Door("an origin's challenge", [:]) { _, suite, documents in
            let fields = ["Basic realm=\"\(String(decoding: documents.nextHeaderValue(), as: UTF8.self))\""]
            guard let told = HTTPChallenge.parse(fields).first else { return }
            var challenge = AuthenticationChallenge()
            challenge.host = "files.example"
            challenge.realm = told.parameters["realm"]
            try suite.submit(.challenge(DoorSuite.claim, challenge), \.transfer)
        },
        Door("the resource of an upload", [:]) { _, suite, documents in
            let location = String(decoding: documents.nextHeaderValue(), as: UTF8.self)
            let client = UploadClient(version: .six)
            let interim = HTTPResponseHead(
                version: .http1_1, status: .custom(code: 104, reasonPhrase: ""),
                headers: ["Upload-Draft-Interop-Version": "6", "Location": location, "Upload-Offset": location])
            _ = client.offset(interim.headers)
            guard let url = client.resource(in: interim, to: "http://files.example/a") else { return }
            try suite.submit(.createUpload(DoorSuite.claim, url: url), \.transfer)
        },
        Door("tus metadata", [:]) { _, _, documents in
            let text = String(decoding: documents.nextHeaderValue(), as: UTF8.self)
            let made = try TusCreation([.uploadLength: "1", .uploadMetadata: text])
            guard let metadata = made.metadata else { return }
            guard !metadata.utf8.contains(0), HTTPField.isValidValue(metadata) else { throw DoorFault("\(metadata)") }
        },
    ]
}
