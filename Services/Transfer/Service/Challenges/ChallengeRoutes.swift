import Contracts
import Foundation
import HTTPKit
import Hummingbird
import Identity
import Machines
import OrderedCollections
import Records
import ServiceKit
import TransferCore

/// The call with which apps answer challenges.
struct ChallengeRoutes: Sendable {
    let routes: TransferRoutes
    let store: TransferStore

    func add(to table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/apps/{app}/challenges/{challenge}",
            "Answers a challenge; the log does not contain the credential", body: ChallengeAnswer.self,
            .secrets { $0.replacing("password", in: "credential") },
            .refuses(.ofCode(.unknownChallenge("c")) + [.credentialMismatch])
        ) { try await answer($0, $1) }
    }

    private func answer(_ answer: ChallengeAnswer, _ call: Call) async throws -> Reply<TaskDocument> {
        try answer.requireSense()
        let (app, challenge) = (try call.app, try call.identifier("challenge"))
        let (state, problem) = try await routes.readForCommand(call)
        let taskKey = state?.task(asked: challenge, of: app)
        // Two concurrent answers must not overwrite each other's credential, so each has its own name.
        let name = UUID().lowercased
        if let credential = answer.credential, let asked = taskKey.flatMap({ state?.task($0) })?.challenge {
            _ = try call.context.requireCaller(.operate)
            guard credential.answers(asked.challenge) else { throw Problem.credentialMismatch }
            // Stored before the command, so that a worker finds it when the attempt continues.
            try await store.store(credential, for: call.device, name)
        }
        return try await routes.commands.submit(
            .answerChallenge(
                app: app, id: challenge, answer.disposition, credential: answer.credential == nil ? nil : name), call,
            problem: problem
        ) { aggregate, _ in
            taskKey.flatMap { aggregate.state.task($0) }.map { TaskDocument($0) }
        }
    }
}
