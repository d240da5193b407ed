import FetchService
import ServiceKit

await ServiceMain.run(FetchService.name, port: FetchService.port) { _, _, _ in }
