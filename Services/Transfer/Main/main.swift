import ServiceKit
import TransferService

await ServiceMain.run(Transfer.self)
