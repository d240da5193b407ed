// The page of one device: its connection, its app switcher, what to expect of its apps, its transfers and its timeline.

import { follow, get, path, segment } from './api.js'
import { to } from './address.js'
import { $, h, keyed, say, show } from './dom.js'
import { connection, Outlook } from './outlook.js'
import { Timeline } from './timeline.js'
import { DeviceTransfers } from './transfers.js'
import { dateAndTime, plural, span, streamStates, system, word } from './words.js'

/** The time until a service that did not answer is asked again, in milliseconds. */
const retryAfter = 5000

export class DeviceView {
  /** `now` returns the suite time in milliseconds. */
  constructor(now, failed) {
    this.now = now
    this.failed = failed
    this.timeline = new Timeline(failed)
    this.outlook = new Outlook(now)
    this.transfers = new DeviceTransfers()
  }

  open({ name }) {
    if (name !== this.name) this.empty(name)
    this.name = name
    this.base = `v1/devices/${segment(name)}`
    const { signal } = this.ending = new AbortController()
    this.timeline.open(name)
    this.transfers.open(name)
    follow(path('v1/events/stream', { device: name }), {
      signal,
      told: event => {
        this.transfers.hear(event)
        this.hear()
      },
      state: state => { $('timeline-state').dataset.state = state; say($('timeline-state'), streamStates[state]) },
      failed: error => this.failed(error),
      opened: () => Promise.all([this.refreshAll(signal), this.transfers.fill(signal)]),
    })
    this.timer = setInterval(() => this.tick(), 1000)
  }

  empty(name) {
    say($('device-name'), name)
    $('device-transfers').setAttribute('href', to('transfers', { device: name }))
    say($('device-network'), '')
    $('device-pushes').setAttribute('href', to('pushes', { device: name }))
    $('device-events').setAttribute('href', to('feed', { device: name }))
    for (const id of ['device-facts', 'switcher', 'other-apps']) $(id).replaceChildren()
    for (const id of ['device-gone', 'switcher-empty', 'others', 'device-tasks-panel']) show($(id), false)
    for (const id of ['switcher-panel', 'timeline-panel']) show($(id), true)
    this.outlook.clear()
  }

  close() {
    this.ending?.abort()
    clearInterval(this.timer)
    clearTimeout(this.hearing)
    this.hearing = undefined
  }

  /** Refreshes 300 ms after the first event of a burst. */
  hear() {
    const { signal } = this.ending
    this.hearing ??= setTimeout(() => {
      this.hearing = undefined
      this.transfers.write()
      this.refreshAll(signal).catch(error => { if (!signal.aborted) this.failed(error) })
    }, 300)
  }

  async refreshAll(signal) {
    await Promise.all([this.refreshState(signal), this.timeline.refresh(signal)])
  }

  async refreshState(signal) {
    const [state, push] = await Promise.all([
      get(path(`${this.base}/state`, { service: 'lifecycle' }), signal).catch(error => {
        if (error.status !== 404) throw error
      }),
      connection(this.name, signal),
    ])
    if (signal.aborted) return
    this.write(state?.state, push)
    if (!state?.state.registration) return
    await this.outlook.refresh(this.name, Object.keys(state.state.apps), signal)
    this.askedAt = performance.now()
  }

  write(state, push) {
    const isKnown = Boolean(state?.registration)
    show($('device-gone'), !isKnown)
    show($('switcher-panel'), isKnown)
    say($('device-gone'), 'lifecycle has no device with this name: it was never registered, or it is deregistered.')
    const chips = isKnown ? [...push ? [{ words: push.words, isBad: !push.isOpen }] : [], ...facts(state).map(words => ({ words }))] : []
    keyed($('device-facts'), chips, fact => fact.words, fact => h('li', { class: fact.isBad && 'is-bad' }, fact.words))
    if (!isKnown) return this.outlook.clear()
    const { network } = state.conditions ?? {}
    say($('device-network'), network ? `network: ${networkWords(network)}` : '')
    const apps = Object.entries(state.apps).map(([name, app]) => ({ name, ...app }))
    const byName = new Map(apps.map(app => [app.name, app]))
    const recent = (state.switcher ?? []).map(name => byName.get(name)).filter(Boolean)
    const others = apps.filter(app => !recent.includes(app))
    keyed($('switcher'), recent, app => app.name, card, (element, app) => this.fill(element, app))
    keyed($('other-apps'), others, app => app.name, card, (element, app) => this.fill(element, app))
    show($('switcher-empty'), apps.length === 0)
    show($('others'), others.length > 0)
    this.tick()
  }

  fill(element, app) {
    const [, state, since, notes] = element.children
    element.dataset.state = app.state
    element.dataset.since = app.stateSince ?? ''
    state.firstElementChild.className = `dot is-${app.state}`
    say(state.lastElementChild, word(app.state))
    if (!app.stateSince) say(since, 'never launched')
    keyed(notes, remarks(app), note => note, note => h('li', {}, note))
  }

  /** Asks again for what a service did not tell. Its return is no event of the device. */
  askAgain() {
    if (!this.outlook.isIncomplete || performance.now() - this.askedAt < retryAfter) return
    const { signal } = this.ending
    this.askedAt = Infinity
    this.refreshState(signal).catch(error => { if (!signal.aborted) this.failed(error) })
  }

  /** Updates "for 3 min" while no events arrive. */
  tick() {
    if (document.hidden) return
    this.transfers.write()
    this.askAgain()
    for (const element of document.querySelectorAll('#device .card')) {
      const { since } = element.dataset
      if (since) say(element.children[2], `for ${span(this.now() - Date.parse(since))}, since ${dateAndTime(since)}`)
    }
  }
}

function card(app) {
  return h('li', { class: 'card' }, h('h3', {}, app.name),
    h('p', { class: 'state' }, h('span', { 'aria-hidden': 'true' }), h('strong')),
    h('p', { class: 'muted since' }), h('ul', { class: 'notes' }))
}

/** Returns the properties of the device that affect background work. */
function facts(state) {
  const { registration, conditions = {} } = state
  const { battery, network } = conditions
  return [
    system(registration.profile), registration.model, registration.fleet && `fleet ${registration.fleet}`,
    state.isPoweredOn === false ? 'turned off' : state.isAwake ? 'awake' : 'asleep',
    conditions.locked ? 'locked' : 'unlocked',
    battery && `battery ${Math.round(battery.level * 100)} %${battery.charging ? ', charging' : ''}`,
    conditions.lowPowerMode && 'Low Power Mode',
    network && networkWords(network),
    conditions.memoryPressure && conditions.memoryPressure !== 'normal' && `memory pressure ${conditions.memoryPressure}`,
    conditions.thermal && conditions.thermal !== 'nominal' && `thermal state ${conditions.thermal}`,
    state.backgroundRefresh === 'off' && 'Background App Refresh off',
  ].filter(Boolean)
}

function networkWords(network) {
  const kind = { wifi: 'Wi-Fi', none: 'no network' }[network.kind] ?? network.kind
  return [kind, network.constrained && 'Low Data Mode'].filter(Boolean).join(', ')
}

/** Returns the properties of an app that affect its background work. */
function remarks(app) {
  const size = list => Object.keys(list ?? {}).length
  const modes = app.manifest?.backgroundModes ?? []
  return [
    app.forceQuit && 'Force-quit by the user: not launched in the background',
    app.ending && `Being terminated: ${word(app.ending)}`,
    app.backgroundRefresh === 'off' && 'Background App Refresh off',
    app.notifications && app.notifications.authorization !== 'authorized' && `Notifications: ${word(app.notifications.authorization)}`,
    size(app.wakes) > 0 && plural(size(app.wakes), 'active wake', 'active wakes'),
    size(app.tasks) > 0 && plural(size(app.tasks), 'background task', 'background tasks'),
    app.lastEnd && `Last ended: ${word(app.lastEnd.reason)}${app.lastEnd.code ? ` (${app.lastEnd.code})` : ''}`,
    modes.length > 0 && `Background modes: ${modes.join(', ')}`,
    app.snapshotLabel && `Snapshot: ${app.snapshotLabel}`,
  ].filter(Boolean)
}
