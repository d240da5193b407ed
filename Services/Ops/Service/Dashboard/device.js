// The page of one device: its app switcher and its timeline.

import { follow, get, path, segment } from './api.js'
import { $, h, keyed, say, show } from './dom.js'
import { askWhy } from './causes.js'
import { dateAndTime, gist, plural, shortType, span, system, timeWithMilliseconds, word } from './words.js'

const stateWords = { connecting: 'connecting', live: 'live', waiting: 'connection lost; retrying', ended: 'ended' }

export class DeviceView {
  /** `now` returns the suite time in milliseconds. */
  constructor(now, failed) {
    this.now = now
    this.failed = failed
    $('earlier').addEventListener('click', () => this.earlier().catch(error => this.failed(error)))
  }

  open(name) {
    this.close()
    this.name = name
    this.base = `v1/devices/${segment(name)}`
    this.entries = []
    this.next = undefined
    // The maximum number of events in the list; each page of earlier events raises it.
    this.most = 500
    const { signal } = this.ending = new AbortController()
    say($('device-name'), name)
    for (const id of ['device-facts', 'switcher', 'other-apps', 'timeline']) $(id).replaceChildren()
    for (const id of ['device-gone', 'switcher-empty', 'timeline-empty', 'earlier', 'others']) show($(id), false)
    for (const id of ['switcher-panel', 'timeline-panel']) show($(id), true)
    follow(path('v1/events/stream', { device: name }), {
      signal,
      told: () => this.hear(),
      state: state => { $('timeline-state').dataset.state = state; say($('timeline-state'), stateWords[state]) },
      failed: error => this.failed(error),
      opened: () => this.refresh(signal),
    })
    this.timer = setInterval(() => this.tick(), 1000)
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
      this.refresh(signal).catch(error => { if (!signal.aborted) this.failed(error) })
    }, 300)
  }

  async refresh(signal) {
    const [state, page] = await Promise.all([
      get(path(`${this.base}/state`, { service: 'lifecycle' }), signal).catch(error => {
        if (error.status === 404) return null
        throw error
      }),
      get(path(`${this.base}/timeline`, { limit: 100 }), signal),
    ])
    if (signal.aborted) return
    this.write(state?.state)
    const known = new Set(this.entries.map(entry => entry.event))
    const news = page.items.filter(entry => !known.has(entry.event))
    // If events may be missing between the lists, or the list is too long, it starts again from this page.
    if (news.length === page.items.length || this.entries.length > this.most) {
      this.entries = page.items
      this.next = page.next
    } else {
      this.entries = [...news, ...this.entries]
    }
    this.list()
  }

  async earlier() {
    const { signal } = this.ending
    const page = await get(path(`${this.base}/timeline`, { limit: 100, cursor: this.next }), signal)
    this.next = page.next
    this.most += page.items.length
    const known = new Set(this.entries.map(entry => entry.event))
    this.entries.push(...page.items.filter(entry => !known.has(entry.event)))
    this.list()
  }

  list() {
    keyed($('timeline'), this.entries, entry => entry.event, row)
    show($('timeline-empty'), this.entries.length === 0)
    show($('earlier'), Boolean(this.next))
  }

  write(state) {
    const isKnown = Boolean(state?.registration)
    show($('device-gone'), !isKnown)
    show($('switcher-panel'), isKnown)
    say($('device-gone'), 'lifecycle has no device with this name: it was never registered, or it is deregistered.')
    keyed($('device-facts'), isKnown ? facts(state) : [], fact => fact, fact => h('li', {}, fact))
    if (!isKnown) return
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

  /** Updates "for 3 min" while no events arrive. */
  tick() {
    if (document.hidden) return
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

function row(entry) {
  return h('li', {},
    h('time', { datetime: entry.time }, h('span', { class: 'day' }, `${entry.time.slice(0, 10)} `), timeWithMilliseconds(entry.time)),
    h('span', { class: `badge of-${entry.service}` }, entry.service),
    h('div', { class: 'what' },
      h('p', {}, h('strong', { class: 'type' }, shortType(entry)), entry.app ? ` ${entry.app}` : '', gist(entry.data) && h('span', { class: 'gist' }, ` ${gist(entry.data)}`)),
      entry.summary && h('p', { class: 'muted' }, entry.summary.split('`').map((part, index) => index % 2 === 1 ? h('code', {}, part) : part))),
    h('button', { type: 'button', class: 'why', 'aria-label': `Why ${entry.type}?`, onclick: () => askWhy(entry.event) }, 'why?'))
}
