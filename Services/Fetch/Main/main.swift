import FetchService
import ServiceKit

await ServiceMain.run(Fetch.self)
