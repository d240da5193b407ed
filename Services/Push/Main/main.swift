import PushService
import ServiceKit

await ServiceMain.run(Push.self, more: [ClientCertificateCommand.self])
