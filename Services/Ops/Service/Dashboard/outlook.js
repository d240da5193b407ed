// What to expect of a device now: its push connection, the budgets and next refreshes of its apps, and a push of each type.

import { eventsOf, get, path, segment } from './api.js'
import { $, h, keyed, say, show } from './dom.js'
import { dateAndTime, number, span } from './words.js'

/** The most apps with an outlook; each costs two requests. */
const most = 8
const pushes = {
  alert: 'Alert', alertByPower: 'Alert (priority 5)', alertWithoutWaking: 'Alert (priority 1)', background: 'Background', voip: 'VoIP',
  liveactivity: 'Live Activity', pushtotalk: 'Push to Talk', fileprovider: 'File Provider', complication: 'Complication', widgets: 'Widgets',
  controls: 'Controls', location: 'Location', mdm: 'MDM',
}
const factors = {
  battery: 'Battery', lowPowerMode: 'Low Power Mode', usage: 'Usage of the app', appSwitcher: 'App switcher', backgroundRefresh: 'Background App Refresh',
  budgets: 'Budgets', rateLimit: 'Time since the last refresh', network: 'Network', deviceActivity: 'Activity of the device', herd: 'Other wakes of the suite',
}

/** Returns the push connection of a device in words; nothing if push does not know it. */
export async function connection(device, signal) {
  const base = `v1/devices/${segment(device)}/state`
  const found = await get(path(base, { service: 'push' }), signal).catch(error => { if (error.status !== 404) throw error })
  const open = found?.state.connection
  if (!found) return undefined
  if (open) return { isOpen: true, words: `push: connected since ${dateAndTime(open.since)}` }
  const ends = await eventsOf({ device, type: 'push.device.disconnected', limit: 1 }, signal)
  const [end] = ends.items
  return { isOpen: false, words: end ? `push: not connected since ${dateAndTime(end.time)}` : 'push: never connected', event: end?.id }
}

export class Outlook {
  /** `now` returns the suite time in milliseconds. */
  constructor(now) { this.now = now }

  clear() {
    this.isIncomplete = false
    show($('outlook-panel'), false)
    keyed($('outlook'), [], each => each.app)
  }

  async refresh(device, apps, signal) {
    const shown = await Promise.all(apps.slice(0, most).map(async app => {
      const base = `v1/devices/${segment(device)}/apps/${segment(app)}`
      const [push, fetch] = await Promise.all([part(`${base}/explain`, signal), part(`${base}/forecast`, signal)])
      return { app, push, fetch }
    }))
    if (signal.aborted) return
    /** Whether a service did not answer. */
    this.isIncomplete = shown.some(({ push, fetch }) => push.isAway || fetch.isAway)
    show($('outlook-panel'), shown.length > 0)
    show($('outlook-more'), apps.length > most)
    say($('outlook-more'), `${number(apps.length - most)} more apps have an outlook, too; GET …/apps/APP/explain shows it.`)
    keyed($('outlook'), shown, each => each.app, each => h('li', { class: 'card' }, h('h3', {}, each.app), h('div', { class: 'outlook' })),
      (element, each) => this.fill(element, each))
  }

  fill(element, { push, fetch }) {
    // Unchanged documents keep the open details.
    const text = JSON.stringify([push, fetch])
    if (element.dataset.text === text) return
    element.dataset.text = text
    const isOpen = element.querySelector('details')?.open
    element.lastElementChild.replaceChildren(...this.ofPush(push), ...this.ofFetch(fetch, isOpen))
  }

  ofPush(push) {
    if (push.fault) return [h('p', { class: 'muted' }, `push: ${push.fault}`)]
    const { budget, forecast } = push
    const share = h('meter', { min: '0', max: String(budget.capacity), 'aria-label': 'Silent pushes left' })
    share.value = budget.left
    const outcomes = this.outcomes(forecast)
    return [
      h('p', { class: 'budget' }, h('span', {}, 'Silent pushes left now'), h('strong', {}, `${budget.left} of ${budget.capacity}`), share,
        budget.nextReleaseAt && h('span', { class: 'muted' }, `next at ${dateAndTime(budget.nextReleaseAt)}`)),
      outcomes.length === 0 ? h('p', { class: 'muted' }, 'The app has no push token.')
        : h('dl', { class: 'forecast' }, h('dt', { class: 'head' }, 'A push now'), h('dd', { class: 'head' }, 'becomes'),
          outcomes.flatMap(([outcome, types]) => [h('dt', {}, types.join(', ')), h('dd', {}, outcome)])),
    ]
  }

  /** Returns the types of push by their outcome. */
  outcomes(forecast) {
    const types = new Map()
    for (const [type, { status, until, cause }] of Object.entries(forecast)) {
      const outcome = `${status}${cause ? ` (${cause})` : ''}${until ? ` until ${dateAndTime(until)}` : ''}`
      types.set(outcome, [...types.get(outcome) ?? [], pushes[type] ?? type])
    }
    return [...types]
  }

  ofFetch(fetch, isOpen) {
    if (fetch.fault) return [h('p', { class: 'muted' }, `fetch: ${fetch.fault}`)]
    const waits = fetch.factors.filter(factor => factor.result === 'mustWait')
    const words = !fetch.inEffect ? 'The app asks for no refreshes.'
      : fetch.running ? 'A refresh is running.'
        : fetch.nextFetch ? `Next refresh at ${dateAndTime(fetch.nextFetch.at)}, in ${span(Date.parse(fetch.nextFetch.at) - this.now())}.`
          : `No refresh while ${waits.map(factor => factor.reason).join(', and ') || 'a factor blocks it'}.`
    return [h('p', {}, words), fetch.inEffect && this.factors(fetch, isOpen)].filter(Boolean)
  }

  factors({ factors: now, nextFetch }, isOpen) {
    const shown = nextFetch?.factors ?? now
    return h('details', { open: isOpen, 'aria-label': 'Factors of the next refresh' }, h('summary', {}, nextFetch ? 'Factors at that time' : 'Factors now'),
      h('dl', { class: 'forecast' }, shown.flatMap(factor => [
        h('dt', {}, factors[factor.factor] ?? factor.factor),
        h('dd', {}, factor.result === 'score' ? score(factor.score) : `waits: ${factor.reason}${factor.until ? `, until ${dateAndTime(factor.until)}` : ''}`),
      ])))
  }
}

function score(value) {
  const meter = h('meter', { min: '0', max: '1', 'aria-label': `Score ${value}` })
  meter.value = value
  return [meter, ` ${Math.round(value * 100)} %`]
}

/** Returns a document of a service, or why there is none. */
async function part(address, signal) {
  try { return await get(address, signal) } catch (error) {
    if (error.status === 404) return { fault: 'does not know this app yet' }
    if (error.status === 0 || error.code === 'service_unreachable') return { fault: 'does not answer', isAway: true }
    throw error
  }
}
