// The dashboard: navigation, and the refresh of the open view.

import { all, credentials, Failure, get, patience, pause } from './api.js'
import { change, here } from './address.js'
import { Audit } from './audit.js'
import { showWhy } from './causes.js'
import { SuiteClock } from './clock.js'
import { $, h, keyed, say, show } from './dom.js'
import { DeviceView } from './device.js'
import { Devices } from './devices.js'
import { Door, refreshHealth, troubleOf } from './door.js'
import { Feed } from './feed.js'
import { Services } from './letters.js'
import { refreshNumbers } from './overview.js'
import { Pushes } from './pushes.js'
import { Reports } from './reports.js'
import { TransferPage, Transfers } from './transfers.js'

const clock = new SuiteClock()
const door = new Door(begin, lock)
const feed = new Feed(new Transfers(), failed)

/** The views by name. `refresh` is called every 2 s while the view is open. */
const views = {
  overview: {
    title: '',
    /** Whether the feed has not started. */
    isFeedDue: false,
    open() {
      $('feed-beside').append($('feed'))
      this.isFeedDue = true
    },
    close() {
      this.isFeedDue = false
      feed.stop()
    },
    async refresh(signal) {
      const numbers = refreshNumbers(clock, signal)
      if (this.isFeedDue) this.startFeed(numbers, signal)
      await numbers
    },
    /** Starts the feed after the first numbers, which do not wait for it, and soon without them. */
    async startFeed(numbers, signal) {
      await Promise.race([numbers.catch(() => {}), pause(1000, signal)])
      if (!this.isFeedDue) return
      this.isFeedDue = false
      feed.start(false)
    },
  },
  feed: {
    title: 'Events',
    open() {
      $('events').append($('feed'))
      feed.start(true)
    },
    close: () => feed.stop(),
  },
  device: new DeviceView(() => clock.now, failed),
  devices: Object.assign(new Devices(), { title: 'Devices' }),
  pushes: Object.assign(new Pushes(failed), { title: 'Pushes' }),
  transfers: Object.assign(new TransferPage(failed), { title: 'Transfers' }),
  services: Object.assign(new Services(failed), { title: 'Services' }),
  reports: Object.assign(new Reports(() => clock.now, failed), { title: 'Reports' }),
  audit: Object.assign(new Audit(), { title: 'Audit' }),
}

/** The open view, and its address without "why?"; none while a key is needed. */
let open
let shown
/** Stops the refresh of the open view. */
let refreshing = new AbortController()
/** Whether the page shows numbers. */
let hasNumbers = false

// Navigation

function viewOf({ part, name }) {
  if (part === 'devices' && name) return 'device'
  return Object.hasOwn(views, part) && part !== 'device' ? part : 'overview'
}

/** Opens the view of the address. A page that the browser kept keeps its place and its focus. */
function turn({ isKept = false } = {}) {
  const route = here()
  const name = viewOf(route)
  const { why, ...query } = route.query
  const address = JSON.stringify([name, route.name, query])
  if (address !== shown) {
    const isOther = name !== open
    if (open) views[open].close()
    shown = address
    mark(name, route)
    open = name
    views[name].open({ ...route, query })
    if (isOther && !isKept) arrive(name)
    refresh()
  }
  showWhy(why)
}

/** Shows the elements of the view. */
function mark(name, route) {
  show($('door'), false)
  for (const element of document.querySelectorAll('[data-view]')) show(element, element.dataset.view === name)
  const part = name === 'device' ? 'devices' : name
  for (const link of document.querySelectorAll('nav [data-part]')) {
    if (link.dataset.part === part) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  const title = name === 'device' ? route.name : views[name].title
  document.title = title ? `${title} – Dormouse` : 'Dormouse'
  showFleet(route.query.fleet ?? '')
}

function arrive(name) {
  scrollTo(0, 0)
  // The first view leaves the focus where the browser has it.
  if (hasArrived) document.querySelector(`[data-view="${name}"] h1`)?.focus({ preventScroll: true })
  hasArrived = true
}
let hasArrived = false

function lock() {
  refreshing.abort()
  if (open) views[open].close()
  showWhy(undefined)
  open = shown = undefined
  // The form of the key had the focus, so the next view takes it.
  hasArrived = true
  $('clock').dataset.state = 'locked'
  for (const element of document.querySelectorAll('[data-view]')) show(element, false)
}

// The fleet, which holds over all views

let hasFleets = false

async function readFleets() {
  hasFleets = true
  const names = (await all('v1/fleets')).map(each => each.fleet)
  const { fleet = '' } = here().query
  // An address may name a fleet that has no device now.
  if (fleet && !names.includes(fleet)) names.push(fleet)
  keyed($('fleet'), ['', ...names], name => `fleet ${name}`, name => h('option', { value: name }, name || 'all'))
  showFleet(fleet)
  show($('fleets'), names.length > 0)
}

function showFleet(fleet) {
  if (fleet && ![...$('fleet').options].some(each => each.value === fleet)) $('fleet').append(h('option', { value: fleet, dataset: { key: `fleet ${fleet}` } }, fleet))
  if (fleet) show($('fleets'), true)
  $('fleet').value = fleet
}

$('fleet').addEventListener('focus', () => readFleets().catch(failed))
$('fleet').addEventListener('change', () => change({ fleet: $('fleet').value, cursor: '' }))

// Failures

function failed(error) {
  if (!(error instanceof Failure)) {
    if (error.name !== 'AbortError') console.error(error)
    return
  }
  if (error.isOfTheKey) return door.refuse(error)
  say($('trouble'), troubleOf(error, hasNumbers ? clock : undefined))
  show($('trouble'), true)
}

function wentWell() {
  hasNumbers = true
  show($('trouble'), false)
}

// Refresh

/** Refreshes every 2 s while the page is visible, less often after failures, and for at most a tenth of the time. */
async function refresh() {
  refreshing.abort()
  const { signal } = refreshing = new AbortController()
  let tries = 0
  while (!signal.aborted) {
    let wait = 2000
    if (!document.hidden) {
      // If `ops` does not answer, the other requests report it.
      refreshHealth(signal).catch(() => {})
      const asked = performance.now()
      try {
        // Each part is written when it arrives, so one failure does not hide the others.
        await Promise.all([clock.refresh(signal), views[open].refresh?.(signal)])
        wentWell()
        tries = 0
        wait = Math.max(wait, 9 * (performance.now() - asked))
      } catch (error) {
        if (signal.aborted) return
        failed(error)
        wait = Math.max(wait, patience(tries++, error))
      }
      // The first numbers do not wait for the list of fleets.
      if (!hasFleets) readFleets().catch(error => { hasFleets = false; failed(error) })
    }
    await pause(wait, signal)
  }
}

document.addEventListener('visibilitychange', () => { if (!document.hidden && open) refresh() })

// Start

async function begin() {
  let tries = 0
  $('clock').dataset.state = ''
  while (true) {
    try {
      const [{ scopes }] = await Promise.all([get('v1/key'), clock.refresh()])
      credentials.mayOperate = scopes.includes('operate')
      break
    } catch (error) {
      failed(error)
      if (!(error instanceof Failure) || error.isOfTheKey) return
      await pause(patience(tries++, error))
    }
  }
  wentWell()
  clock.write()
  show($('forget'), credentials.isHeld)
  turn()
}

addEventListener('hashchange', () => { if (!door.isOpen) turn() })

// The browser may keep a page that is left, for its back button. The kept page must hold no connection: a browser opens six
// for a host, and each feed needs one.
addEventListener('pagehide', () => {
  refreshing.abort()
  if (open) views[open].close()
  open = shown = undefined
})
addEventListener('pageshow', ({ persisted }) => { if (persisted && !door.isOpen) turn({ isKept: true }) })

begin()
