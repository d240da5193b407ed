import Records

@testable import PushCore

extension RecordGoldenTests {
    static let pushMachine: [any Record.Type] = [
        LiveActivity.self, PushConnection.self, PushMachine.self, PushMessage.self, PushedApp.self, RetiredToken.self,
        ShownNotification.self, SilentBudget.self, TokenRegistration.self,
    ]
}
