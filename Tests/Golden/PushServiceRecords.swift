import Records

@testable import PushService

extension RecordGoldenTests {
    static let pushService: [any Record.Type] = [
        Explanation.self, Explanation.Budget.self, Explanation.Outcome.self, NotificationCount.self,
        NotificationCountList.self, NotificationDocument.self, NotificationItem.self, NotificationList.self,
        NotificationPage.self, ProviderKeyDocument.self, ProviderKeyList.self, RegistrationDocument.self,
        ThrottleDocument.self, TimelineDocument.self, TimelineDocument.Entry.self, TokenDocument.self,
    ]
}
